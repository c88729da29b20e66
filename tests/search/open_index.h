// A beginning for tests of the index: an open index, jobs that run at once, texts to fill it with.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "search/search.h"
#include "support/run.h"
#include "support/temp_dir.h"

namespace reef::search::test {

using reef::test::TempDir;
using reef::test::value_of;

inline const std::vector<float> kWeights{3.0F, 2.0F, 1.5F, 1.3F, 1.0F};

inline std::unique_ptr<Index> open_index(Files& files, const std::string& path,
                                         IndexOptions options = {.weights = kWeights}) {
  auto opened = value_of(Index::open(files, path, std::move(options)));
  EXPECT_TRUE(opened.problems.empty()) << opened.problems[0];
  return std::move(opened.index);
}

inline void run_job(Index& index, std::optional<Job> job) {
  if (!job) return;
  while (!value_of(job->step())) {
  }
  ASSERT_TRUE(index.finish(*std::move(job)).ok());
}

inline std::vector<Hit> find(Index& index, std::string_view text, std::size_t limit = 20) {
  const auto query = parse_query(text);
  return index.prepare(query).best({}, limit);
}

inline std::vector<std::uint64_t> keys(const std::vector<Hit>& hits) {
  std::vector<std::uint64_t> out;
  for (const auto& hit : hits) out.push_back(hit.row.key);
  return out;
}

// Random texts of few words, and queries for them.
class Corpus {
 public:
  explicit Corpus(std::uint64_t from) : random_(from) {
    for (const char* stem : {"paint", "walk", "test", "file", "index", "merge", "sing", "cach"})
      for (const char* end : {"", "s", "ed", "ing", "er", "e"})
        words_.push_back(std::string(stem) + end);
    // These are more words than the search expands a prefix to.
    for (int i = 0; i < 100; ++i) words_.push_back(fmt::format("w{}x", i));
    for (const char* odd : {"fooBar_baz", "src/io/bar.cpp", "1.2.3", "東京都", "the", "of", "E0425",
                            "café", "don't", "std::vector"})
      words_.emplace_back(odd);
  }

  SeededRandom& random() { return random_; }

  // Words with low numbers are frequent.
  const std::string& word() {
    const auto n = random_.below(words_.size());
    return words_[random_.below(n + 1)];
  }

  std::string text(std::size_t words_max) {
    std::string out;
    for (auto n = 1 + random_.below(words_max); n > 0; --n) out += word() + " ";
    return out;
  }

  std::string query() {
    std::string out;
    for (auto n = 1 + random_.below(4); n > 0; --n) {
      switch (random_.below(12)) {
        case 0:
          out += "+" + word();
          break;
        case 1:
          out += "-" + word();
          break;
        case 2:
          out += "\"" + word() + " " + word() + "\"";
          break;
        case 4:
          // A phrase whose last word is a prefix.
          out += (random_.below(2) == 0 ? "+" : "-") + word() + "." + word().substr(0, 2) + "*";
          break;
        case 3:
          out += word().substr(0, 1 + random_.below(4)) + "*";
          break;
        default:
          out += word();
      }
      out += ' ';
    }
    return out;
  }

 private:
  SeededRandom random_;
  std::vector<std::string> words_;
};

}  // namespace reef::search::test
