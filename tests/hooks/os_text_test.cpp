// Pure parts of the tools: diffs, and output of any length.
#include <filesystem>
#include <random>
#include <sys/stat.h>

#include "base/utf8.h"
#include "hooks/os/diff.h"
#include "hooks/os/output.h"
#include "store/fs/fs_documents.h"
#include "support/run.h"
#include "support/temp_dir.h"

namespace reef::hooks::os {
namespace {

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size() - 1);
    out.emplace_back(text.substr(0, end + 1));
    text.remove_prefix(end + 1);
  }
  return out;
}

// Applies a diff as `patch` does, but tolerates nothing.
std::string patched(const std::string& before, const std::string& diff) {
  const auto old = lines_of(before);
  std::string out;
  std::size_t at = 0;
  const auto all = lines_of(diff);
  for (std::size_t i = 2; i < all.size(); ++i) {
    const auto& line = all[i];
    if (line.starts_with("@@ -")) {
      std::size_t start = std::stoul(line.substr(4));
      const auto comma = line.find(',');
      const bool none = comma < line.find(" +") && line[comma + 1] == '0' && line[comma + 2] == ' ';
      if (!none) --start;
      while (at < start) out += old.at(at++);
      continue;
    }
    if (line.starts_with("\\")) continue;
    auto text = line.substr(1);
    if (i + 1 < all.size() && all[i + 1].starts_with("\\")) text.pop_back();
    if (line[0] != '+') {
      EXPECT_EQ(old.at(at), text);
      ++at;
    }
    if (line[0] != '-') out += text;
  }
  while (at < old.size()) out += old[at++];
  return out;
}

TEST(Diff, ReadsAsProgrammersExpect) {
  EXPECT_EQ(unified_diff("a\n", "a\n", "f").text, "");
  EXPECT_EQ(unified_diff("", "a\nb", "f").text,
            "--- /dev/null\n+++ b/f\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n");
  EXPECT_EQ(
      unified_diff("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n", "/x/f").text,
      "--- a/x/f\n+++ b/x/f\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
  const auto diff = unified_diff("a\nb\nc\n", "c\na\nb\n", "f");
  EXPECT_EQ(diff.added, 1U);
  EXPECT_EQ(diff.removed, 1U);
  EXPECT_TRUE(utf8::valid(unified_diff("caf\xe9\n", "caf\xe8\n", "f").text));
}

TEST(Diff, MakesTheNewTextOutOfTheOld) {
  const auto* given = std::getenv("REEF_SEED");
  const unsigned seed = given ? static_cast<unsigned>(std::stoul(given)) : 7;
  SCOPED_TRACE("REEF_SEED=" + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 500; ++round) {
    const auto text = [&] {
      std::string out;
      const auto lines = random() % 30;
      for (unsigned i = 0; i < lines; ++i)
        out += std::string(1, static_cast<char>('a' + random() % 4)) + "\n";
      if (random() % 3 == 0 && !out.empty()) out.pop_back();
      return out;
    };
    const auto before = text();
    const auto after = text();
    if (before == after) continue;
    const auto diff = unified_diff(before, after, "f");
    EXPECT_EQ(patched(before, diff.text), after) << diff.text;
  }
}

TEST(Diff, ADiffOfLargeTextsTakesLittleTime) {
  std::string before, after;
  for (int i = 0; i < 50'000; ++i) {
    before += "old " + std::to_string(i) + "\n";
    after += "new " + std::to_string(i) + "\n";
  }
  const auto began = std::chrono::steady_clock::now();
  const auto diff = unified_diff(before, after, "f");
  EXPECT_EQ(diff.added, 50'000U);
  EXPECT_EQ(diff.removed, 50'000U);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(10));
}

class OutputTest : public testing::Test {
 protected:
  Output::Shown shown_of(const std::vector<std::string>& pieces, std::size_t bytes_max = 300) {
    Output output(pool, {documents, id, folder / "sessions/s", "stamp-bash"}, bytes_max);
    for (const auto& piece : pieces) test::run(io, output.take(piece));
    return test::run(io, output.finish());
  }
  OutputTest() {
    ::mkdir((folder / "sessions").c_str(), 0700);
    ::mkdir((folder / "sessions/s").c_str(), 0700);
  }

  test::TempDir folder;
  boost::asio::io_context io{1};
  PosixFiles files;
  store::FsDocuments documents{files, folder.path()};
  session::SessionId id = *session::SessionId::parse("s");
  Pool pool{1};
};

TEST_F(OutputTest, AShortOneIsShownWhole) {
  const auto shown = shown_of({"hello ", "wor", "ld \xff"});
  EXPECT_EQ(shown.text, "hello world \xef\xbf\xbd");
  EXPECT_EQ(shown.path, "");
  EXPECT_FALSE(test::exists(folder / "sessions/s/long_responses"));
}

TEST_F(OutputTest, ALongOneIsCutInTheMiddleAndKeptWhole) {
  std::vector<std::string> pieces;
  std::string all;
  for (int i = 0; i < 100; ++i) {
    pieces.push_back("line " + std::to_string(i) + "\n");
    all += pieces.back();
  }
  const auto shown = shown_of(pieces);
  EXPECT_EQ(shown.path, folder / "sessions/s/long_responses/stamp-bash.txt");
  EXPECT_EQ(test::read_file(shown.path), all);
  EXPECT_TRUE(shown.text.starts_with("line 0\nline 1\n")) << shown.text;
  EXPECT_TRUE(shown.text.ends_with("line 98\nline 99\n"));
  EXPECT_NE(shown.text.find("all of it is in " + shown.path), std::string::npos);
  EXPECT_LT(shown.text.size(), 500U);
  EXPECT_EQ(shown_of(pieces).path, folder / "sessions/s/long_responses/stamp-bash-2.txt");
}

TEST_F(OutputTest, EveryLengthAroundTheLimitComesOutWhole) {
  for (std::size_t size = 295; size < 310; ++size)
    for (std::size_t piece = 1; piece < 400; piece += 57) {
      std::string all(size, 'x');
      std::vector<std::string> pieces;
      for (std::size_t at = 0; at < size; at += piece) pieces.push_back(all.substr(at, piece));
      const auto shown = shown_of(pieces);
      if (size <= 300) {
        EXPECT_EQ(shown.text, all);
      } else {
        EXPECT_EQ(test::read_file(shown.path), all) << size << " " << piece;
      }
    }
}

TEST_F(OutputTest, AHugeOneIsBoundedOnDiskAndInMemory) {
  const std::string piece(1U << 20, 'y');
  std::vector<std::string> pieces(100, piece);
  const auto shown = shown_of(pieces, 8000);
  EXPECT_EQ(std::filesystem::file_size(shown.path), Output::kKeptBytesMax);
  EXPECT_NE(shown.text.find("the first 64 MiB of it are in"), std::string::npos);
  EXPECT_LT(shown.text.size(), 8400U);
}

TEST_F(OutputTest, NothingStaysOfOutputThatWasGivenUp) {
  {
    Output output(pool, {documents, id, folder / "sessions/s", "x"}, 100);
    test::run(io, output.take(std::string(1000, 'z')));
    EXPECT_EQ(test::value_of(files.list(folder / "sessions/.incoming")).size(), 1U);
  }
  // The pool works in order: this comes after the removal.
  auto nothing = [] { return true; };
  EXPECT_TRUE(test::run(io, pool.run(nothing)));
  EXPECT_TRUE(test::value_of(files.list(folder / "sessions/.incoming")).empty());
  EXPECT_FALSE(test::exists(folder / "sessions/s/long_responses"));
}

TEST_F(OutputTest, OutputThatCannotBeKeptIsReported) {
  Output output(
      pool, {documents, *session::SessionId::parse("gone"), folder / "sessions/gone", "x"}, 100);
  test::run(io, output.take(std::string(1000, 'z')));
  const auto shown = test::run(io, output.finish());
  EXPECT_EQ(shown.path, "");
  EXPECT_NE(shown.text.find("could not be kept: "), std::string::npos);
  EXPECT_FALSE(test::exists(folder / "sessions/gone"))
      << "a session that is gone is not made again";
}

TEST(Progress, ComesInWholeCharactersAndIsBounded) {
  std::string told;
  Progress progress([&](std::string text) {
    EXPECT_TRUE(utf8::valid(text));
    told += text;
  });
  const std::string text = "gr\xc3\xbc\xc3\x9f dich \xe2\x82\xac \xf0\x9f\x90\x9a.";
  auto now = std::chrono::steady_clock::now();
  for (const char c : text) progress.take(std::string_view(&c, 1), now);
  EXPECT_EQ(told, text);
  for (int i = 0; i < 1000; ++i) progress.take(std::string(4096, 'x'), now);
  EXPECT_LT(told.size(), 140'000U);
  now += std::chrono::seconds(5);
  progress.take("still here", now);
  EXPECT_TRUE(told.ends_with("\n[...]\nstill here"));
}

}  // namespace
}  // namespace reef::hooks::os
