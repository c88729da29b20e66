// The parts of backups and exports: checked paths, the spool, tar, and the files of a home.
#include <gtest/gtest.h>

#include "exchange/archive/home_files.h"
#include "exchange/archive/spool.h"
#include "exchange/archive/tar.h"
#include "support/temp_dir.h"

namespace reef::exchange {
namespace {

TEST(Paths, OnlyThoseThatStayInside) {
  for (const auto good : {"a", "a/b.c", "...", "a..b/c", ".hidden"})
    EXPECT_TRUE(check_path(good).ok()) << good;
  for (const auto& bad :
       {std::string(), std::string("/a"), std::string("a/"), std::string("a//b"), std::string(".."),
        std::string("a/../b"), std::string("./a"), std::string("a\nb"), std::string("a\0b", 3),
        std::string(256, 'x'), std::string(3000, '/')})
    EXPECT_FALSE(check_path(bad).ok()) << bad;
}

TEST(Paths, ATitleBecomesHarmlessWords) {
  EXPECT_EQ(slug("Deploy keys!"), "deploy-keys");
  EXPECT_EQ(slug("../../etc/passwd"), "etc-passwd");
  EXPECT_EQ(slug("\xE4\xBD\xA0"), "");
  EXPECT_LE(slug(std::string(9000, 'x')).size(), 48U);
}

TEST(Spool, GivesBackWhatWasWrittenWhateverItsSize) {
  const test::TempDir folder;
  Spool spool(folder.path());
  const std::string large(Spool::kMemoryBytesMax, 'L');
  for (int round = 0; round < 2; ++round) {
    const std::vector<std::pair<std::string, std::string>> files = {{"empty", ""},
                                                                    {"small", "abc"},
                                                                    {"large", large + "1"},
                                                                    {"more", large + "2"},
                                                                    {"last", "z"}};
    for (const auto& [path, bytes] : files) {
      ASSERT_TRUE(spool.begin(path).ok());
      for (std::size_t at = 0; at < bytes.size(); at += 100'000)
        ASSERT_TRUE(spool.write(std::string_view(bytes).substr(at, 100'000)).ok());
      ASSERT_TRUE(spool.end().ok());
    }
    std::vector<std::pair<std::string, std::string>> taken;
    for (;;) {
      auto piece = spool.take(70'000);
      ASSERT_TRUE(piece.ok());
      if (!*piece) break;
      EXPECT_LE((*piece)->data.size(), 70'000U);
      if (!(*piece)->path.empty()) taken.emplace_back((*piece)->path, "");
      taken.back().second += (*piece)->data;
    }
    EXPECT_EQ(taken, files);
  }
  EXPECT_TRUE(Spool(folder.path()).begin("../out").error().code == Errc::invalid);
}

class Collect final : public TarReader::Sink {
 public:
  Status begin(const TarFile& file) override {
    files.push_back({file, ""});
    return Ok{};
  }
  Status data(std::string_view bytes) override {
    files.back().second += bytes;
    return Ok{};
  }
  Status end() override {
    EXPECT_EQ(files.back().first.size, files.back().second.size());
    return Ok{};
  }
  std::vector<std::pair<TarFile, std::string>> files;
};

TEST(Tar, ReadsWhatItWroteInPiecesOfAnySize) {
  std::string tar;
  const std::vector<std::pair<std::string, std::string>> files = {
      {"a", ""},
      {std::string(100, 'n'), std::string(512, 'x')},
      {std::string(200, 'm') + "/" + std::string(200, 'k'), "abc"},
      {"\xC3\xA9", std::string(1000, 'y')}};
  for (const auto& [path, bytes] : files)
    tar += tar_header({path, bytes.size(), 1'767'323'046, path == "a"}) + bytes +
           tar_padding(bytes.size());
  tar += tar_end();
  for (const std::size_t step : {std::size_t{1}, std::size_t{7}, std::size_t{512}, tar.size()}) {
    Collect sink;
    TarReader reader(sink);
    for (std::size_t at = 0; at < tar.size(); at += step) {
      if (at + step < tar.size())
        EXPECT_TRUE(at + step > tar.size() - 512 || !reader.finish().ok());
      ASSERT_TRUE(reader.feed(std::string_view(tar).substr(at, step)).ok());
    }
    ASSERT_TRUE(reader.finish().ok());
    ASSERT_EQ(sink.files.size(), files.size());
    for (std::size_t i = 0; i < files.size(); ++i) {
      EXPECT_EQ(sink.files[i].first.path, files[i].first);
      EXPECT_EQ(sink.files[i].second, files[i].second);
      EXPECT_EQ(sink.files[i].first.modified, 1'767'323'046);
      EXPECT_EQ(sink.files[i].first.executable, i == 0);
    }
  }
}

TEST(Tar, AChangedHeaderIsNoticed) {
  const auto tar = tar_header({"a", 3, 0, false}) + "abc" + tar_padding(3) + tar_end();
  for (std::size_t at = 0; at < 512; ++at) {
    auto changed = tar;
    changed[at] = static_cast<char>(changed[at] ^ 0x01);
    Collect sink;
    TarReader reader(sink);
    // The last byte of the checksum's field is only a space.
    if (at >= 148 + 6 && at < 148 + 8) continue;
    EXPECT_FALSE(reader.feed(changed).ok()) << at;
  }
}

TEST(HomeFiles, TranscriptsEndWithALineAndDerivedThingsStay) {
  const test::TempDir home;
  for (const auto& [path, bytes] :
       std::map<std::string, std::string>{{"config.toml", "x"},
                                          {"sessions/a/session.jsonl", "{}\n{}\n{\"to"},
                                          {"sessions/a/attachments/p", "P"},
                                          {"sessions/b/session.jsonl", "nothing whole"},
                                          {"trash/c/session.jsonl", "{}\n"},
                                          {"catalog/rows.jsonl", "no"},
                                          {"agents/x.toml.tmp", "no"},
                                          {"agents/x.toml", "y"},
                                          {"sessions/d/session.jsonl.new", "no"}}) {
    PosixFiles files;
    ASSERT_TRUE(make_directories(files, (home / path).substr(0, (home / path).rfind('/'))).ok());
    test::write_file(home / path, bytes);
  }
  HomeFiles files(home.path());
  std::map<std::string, std::string> found;
  std::string current;
  for (;;) {
    auto piece = files.next(2);
    ASSERT_TRUE(piece.ok()) << piece.error().what;
    if (!*piece) break;
    if (!(*piece)->path.empty()) {
      current = (*piece)->path;
      EXPECT_TRUE(found.emplace(current, "").second) << current << " came twice";
    }
    found[current] += (*piece)->data;
  }
  EXPECT_EQ(found, (std::map<std::string, std::string>{{"config.toml", "x"},
                                                       {"sessions/a/session.jsonl", "{}\n{}\n"},
                                                       {"sessions/a/attachments/p", "P"},
                                                       {"sessions/b/session.jsonl", ""},
                                                       {"trash/c/session.jsonl", "{}\n"},
                                                       {"agents/x.toml", "y"}}));
  EXPECT_EQ(files.sessions(), 2U);
  EXPECT_TRUE(files.problems().empty());
}

}  // namespace
}  // namespace reef::exchange
