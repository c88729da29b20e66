#include "corpus.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "base/random.h"

namespace reef::benchmarks {
namespace {

constexpr std::size_t kVocabulary = 80'000;
constexpr std::size_t kTableSize = 1 << 20;
constexpr std::size_t kQueries = 200;
constexpr std::size_t kSampled = 10'000;  // the messages that queries are drawn from

// Frequent English words come first, so that there are stop words and stems.
constexpr std::string_view kFrequent[] = {
    "the",     "to",      "of",      "and",     "a",       "in",     "is",      "it",
    "that",    "for",     "on",      "with",    "this",    "be",     "as",      "are",
    "not",     "have",    "from",    "or",      "by",      "at",     "we",      "if",
    "can",     "you",     "an",      "was",     "but",     "all",    "will",    "so",
    "which",   "do",      "there",   "use",     "file",    "test",   "error",   "function",
    "return",  "value",   "code",    "line",    "run",     "build",  "check",   "fix",
    "add",     "type",    "name",    "data",    "list",    "path",   "string",  "call",
    "default", "change",  "update",  "read",    "write",   "config", "server",  "client",
    "request", "message", "session", "token",   "index",   "query",  "search",  "result",
    "files",   "tests",   "failed",  "failing", "running", "reads",  "writing", "changed",
    "updates", "cache",   "memory",  "thread",  "queue",   "buffer", "lock",    "timeout",
    "retry",   "stream",  "socket",  "parse",   "schema",  "table",  "column",  "commit",
    "branch",  "merge",   "patch",
};

std::string make_word(SeededRandom& random) {
  static constexpr std::string_view kOnsets[] = {"b", "br", "c",  "cl", "d",  "f", "fl", "g",
                                                 "h", "j",  "k",  "l",  "m",  "n", "p",  "pr",
                                                 "r", "s",  "st", "t",  "tr", "v", "w",  "z"};
  static constexpr std::string_view kVowels[] = {"a", "e", "i", "o", "u", "ea", "ou"};
  static constexpr std::string_view kEnds[] = {"",   "n",   "r",  "s",  "t",
                                               "ck", "ing", "ed", "er", "ly"};
  std::string out;
  for (auto n = 2 + random.below(2); n > 0; --n) {
    out += kOnsets[random.below(std::size(kOnsets))];
    out += kVowels[random.below(std::size(kVowels))];
  }
  return out + std::string(kEnds[random.below(std::size(kEnds))]);
}

class Writer {
 public:
  Writer(std::uint64_t seed, const std::vector<std::string>& words,
         const std::vector<std::uint32_t>& table)
      : random_(seed), words_(words), table_(table) {
    for (int i = 0; i < 30; ++i) {
      const auto rank = std::exp(5.5 + uniform() * 5.7);
      topic_.push_back(words_[std::min(static_cast<std::size_t>(rank), words_.size() - 1)]);
    }
    for (auto n = 4 + random_.below(8); n > 0; --n)
      paths_.push_back(fmt::format("src/{}/{}.cpp", word(), topic()));
  }

  double uniform() { return static_cast<double>(random_.next() >> 11) * 0x1.0p-53; }
  std::size_t below(std::size_t bound) { return random_.below(bound); }
  const std::string& word() { return words_[table_[random_.next() >> 44]]; }
  const std::string& topic() { return topic_[random_.below(topic_.size())]; }
  const std::string& path() { return paths_[random_.below(paths_.size())]; }

  std::size_t length(double median, double sigma, std::size_t most) {
    // The sum of four uniform numbers is close enough to a normal distribution.
    const double normal = (uniform() + uniform() + uniform() + uniform() - 2) * 1.7;
    return std::clamp(static_cast<std::size_t>(median * std::exp(sigma * normal)), std::size_t{2},
                      most);
  }

  void prose(std::string& out, std::size_t words) {
    for (std::size_t i = 0; i < words; ++i) {
      if (i > 0) out += i % 14 == 0 ? ". " : " ";
      out += below(9) == 0 ? topic() : word();
      if (below(80) == 0) out += " `" + path() + "`";
    }
    out += '.';
  }
  void listing(std::string& out, std::size_t words) {
    for (std::size_t i = 0; i < words; i += 10) {
      if (below(3) == 0)
        fmt::format_to(std::back_inserter(out), "2025-{:02}-{:02} WARN {} id={:08x} ",
                       1 + below(12), 1 + below(28), topic(), random_.next() >> 32);
      else
        fmt::format_to(std::back_inserter(out), "{}:{}: ", path(), below(2000));
      for (int n = 0; n < 9; ++n) out += word() + " ";
      out += topic() + "\n";
    }
  }
  void code(std::string& out, std::size_t words) {
    for (std::size_t i = 0; i < words; i += 6)
      fmt::format_to(std::back_inserter(out), "  auto {} = {}_{}({}, {});  // {} {}\n", word(),
                     topic(), word(), word(), below(999), word(), word());
  }

 private:
  SeededRandom random_;
  const std::vector<std::string>& words_;
  const std::vector<std::uint32_t>& table_;
  std::vector<std::string> topic_;
  std::vector<std::string> paths_;
};

}  // namespace

Corpus::Corpus(std::size_t messages) : messages_(messages) {
  SeededRandom random(1);
  std::set<std::string> known(std::begin(kFrequent), std::end(kFrequent));
  words_.assign(std::begin(kFrequent), std::end(kFrequent));
  while (words_.size() < kVocabulary) {
    auto word = make_word(random);
    if (words_.size() > 2000 && random.below(3) == 0) {
      auto next = make_word(random);
      next[0] = static_cast<char>(next[0] - 'a' + 'A');
      word += next;
    } else if (words_.size() > 30'000) {
      word += make_word(random);
    }
    if (known.insert(word).second) words_.push_back(std::move(word));
  }
  double total = 0;
  std::vector<double> sums(words_.size());
  for (std::size_t r = 0; r < words_.size(); ++r)
    sums[r] = total += std::pow(static_cast<double>(r) + 2.7, -1.05);
  table_.resize(kTableSize);
  std::uint32_t rank = 0;
  for (std::size_t i = 0; i < kTableSize; ++i) {
    while (sums[rank] < (static_cast<double>(i) + 0.5) / kTableSize * total) ++rank;
    table_[i] = rank;
  }
}

void Corpus::each(const std::function<void(const CorpusMessage&)>& f) const {
  std::string text;
  std::size_t made = 0;
  for (std::size_t session = 0; made < messages_; ++session) {
    Writer writer(session + 100, words_, table_);
    CorpusMessage message{.session = session};
    message.time_ms = 1'735'689'600'000 + static_cast<std::int64_t>(writer.below(365) * 86'400'000);
    for (auto left = writer.length(45, 0.9, 1500); left > 0 && made < messages_; --left, ++made) {
      text.clear();
      const auto turn = message.index % 6;
      if (turn == 0) {
        message.role = 2;
        writer.prose(text, writer.length(40, 0.9, 1200));
      } else if (turn % 2 == 0) {
        message.role = 3;
        const auto words = writer.length(90, 1.1, 1500);
        writer.below(3) == 0 ? writer.code(text, words) : writer.listing(text, words);
      } else {
        message.role = 4;
        writer.prose(text, writer.length(70, 0.9, 1600));
      }
      message.text = text;
      message.time_ms += 9000;
      f(message);
      ++message.index;
    }
  }
}

std::vector<std::vector<std::string>> Corpus::queries() const {
  std::unordered_map<std::string, std::size_t> df;
  std::vector<std::vector<std::string>> documents;
  Corpus first(0);
  first.messages_ = std::min(messages_, kSampled);
  first.each([&](const CorpusMessage& message) {
    std::set<std::string> words;
    std::string word;
    for (const char c : message.text) {
      const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
      if (lower >= 'a' && lower <= 'z') {
        word += lower;
        continue;
      }
      if (word.size() > 1) words.insert(word);
      word.clear();
    }
    for (const auto& one : words) ++df[one];
    documents.emplace_back(words.begin(), words.end());
  });
  const auto n = static_cast<double>(documents.size());
  const std::pair<double, double> bands[] = {{1, n * 0.0005}, {n * 0.002, n * 0.02}, {n * 0.1, n}};
  SeededRandom random(2);
  std::vector<std::vector<std::string>> out;
  while (out.size() < kQueries) {
    const auto kind = out.size() % 4;
    const auto count = std::max<std::size_t>(1 + random.below(4), kind == 3 ? 2 : 1);
    const auto& document = documents[random.below(documents.size())];
    std::set<std::string> chosen;
    for (std::size_t tries = 0; tries < 200 && chosen.size() < count; ++tries) {
      const auto& word = document[random.below(document.size())];
      const auto& [low, high] = bands[kind == 3 ? chosen.size() % 3 : kind];
      const auto times = static_cast<double>(df[word]);
      if (times >= low && times <= high) chosen.insert(word);
    }
    if (chosen.size() == count) out.emplace_back(chosen.begin(), chosen.end());
  }
  return out;
}

}  // namespace reef::benchmarks
