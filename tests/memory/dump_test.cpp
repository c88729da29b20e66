// The dump for people: how its files look, that nothing is lost on the way, and what is refused.
#include "memory/dump.h"

#include <cerrno>
#include <sys/stat.h>

#include <gtest/gtest.h>

#include "memory/card.h"
#include "support/faulty_files.h"
#include "support/run.h"
#include "support/temp_dir.h"

namespace reef::memory {
namespace {

using test::TempDir;

Contents contents_of(std::vector<Entry> entries) {
  Contents contents;
  for (auto& entry : entries) {
    if (entry.id == 0) entry.id = contents.next_id;
    contents.next_id = entry.id + 1;
    contents.entries.push_back(std::make_shared<const Entry>(std::move(entry)));
  }
  return contents;
}

std::string bytes_of(const std::vector<TreeFile>& tree, const std::string& path) {
  for (const auto& file : tree)
    if (file.path == path) return file.bytes;
  throw std::runtime_error("no file " + path);
}

Contents round_trip(const Contents& contents) {
  return test::value_of(from_tree(to_tree(contents), 99));
}

constexpr std::uint64_t kTime = 1'776'162'225;  // 2026-04-14T10:23:45Z

TEST(Dump, AFileIsACardAndTheContent) {
  const auto tree = to_tree(
      contents_of({{0, kTime, Kind::note, "deploy", "prod rollout steps ...", {"ship", "a<b"}}}));
  EXPECT_EQ(bytes_of(tree, "notes/deploy.md"),
            "<div id=\"meta\">\n<dl>\n"
            "  <dt>Id</dt>\n  <dd>1</dd>\n"
            "  <dt>Created</dt>\n"
            "  <dd><time datetime=\"2026-04-14T10:23:45Z\">2026-04-14T10:23:45Z</time></dd>\n"
            "  <dt>Aliases</dt>\n  <dd><ul><li>ship</li><li>a&lt;b</li></ul></dd>\n"
            "</dl>\n</div>\n\nprod rollout steps ...\n");
}

TEST(Dump, TheSummaryLinksEveryEntryByKind) {
  const auto tree = to_tree(contents_of({{0, 1, Kind::archive, "week 1", "", {}},
                                         {0, 1, Kind::note, "b[1]", "", {}},
                                         {0, 1, Kind::note, "a/b", "", {}}}));
  EXPECT_EQ(bytes_of(tree, "SUMMARY.md"),
            "# Summary\n\n# Notes\n\n- [a/b](notes/a%252Fb.md)\n- [b\\[1\\]](notes/b%5B1%5D.md)\n"
            "\n# Archives\n\n- [week 1](archives/week%201.md)\n");
}

TEST(Dump, EverythingComesBackAsItWas) {
  auto contents = contents_of({
      {3, kTime, Kind::note, "plain", "text", {"one", "two & <three>"}},
      {0, 0, Kind::archive, "empty", "", {}},
      {0, kTime, Kind::topic, "topic", "\n\n# Heading\n\nblank lines around\n\n\n", {}},
      {0, kTime, Kind::note, "crlf", "\r\nline\r\n", {}},
      {0, kTime, Kind::note, "card", "<div id=\"meta\">\n<dl>\n</dl>\n</div>\n\nnot mine", {}},
      {0, kTime, Kind::note, "nul", std::string("a\0b\x1b", 4), {}},
      {0, ~0ULL, Kind::note, "far future", "x", {}},
      {0, 253'402'300'799, Kind::note, "last date", "x", {}},
      {0, 253'402'300'800, Kind::note, "one later", "x", {}},
      {0, kTime, Kind::note, "../../etc/passwd", "x", {"../x"}},
      {0, kTime, Kind::note, ".hidden", "x", {}},
      {0, kTime, Kind::note, "ends. ", "x", {" spaces ", "\ttab\n", "", "&#65;", "&lt;"}},
      {0, kTime, Kind::note, "a%2Fb", "literally", {}},
      {0, kTime, Kind::note, "a/b", "a slash", {}},
      {0, kTime, Kind::note, "", "no name", {}},
      {0, kTime, Kind::note, std::string(4000, 'x'), "long", {}},
      {0, kTime, Kind::note, std::string(4000, 'x') + "y", "long", {}},
      {0, kTime, Kind::note, "Größe 日本", "ü", {"日"}},
      {0, kTime, Kind::note, "<b>&amp;", "x", {}},
  });
  contents.next_id = 4242;
  const auto again = round_trip(contents);
  EXPECT_EQ(*serialize(again), *serialize(contents));
  // Every path stays inside the folder.
  for (const auto& file : to_tree(contents)) {
    EXPECT_EQ(file.path.find(".."), std::string::npos) << file.path;
    EXPECT_LE(file.path.size(), 255U);
    EXPECT_LE(std::count(file.path.begin(), file.path.end(), '/'), 1) << file.path;
  }
}

TEST(Dump, NamesCrabTalkLetTwoEntriesHaveComeBackToo) {
  const auto contents = contents_of({{0, 1, Kind::note, "a", "", {"ship", "a", "ship"}},
                                     {0, 1, Kind::note, "b", "", {"ship", "a"}}});
  EXPECT_EQ(*serialize(round_trip(contents)), *serialize(contents));
}

TEST(Dump, AnIdBehindTheNextIdOrBeyondComesBack) {
  Contents contents = contents_of({{~0ULL - 1, 1, Kind::note, "a", "", {}}});
  EXPECT_EQ(*serialize(round_trip(contents)), *serialize(contents));
  contents.next_id = 0;
  EXPECT_EQ(*serialize(round_trip(contents)), *serialize(contents));
  EXPECT_EQ(*serialize(round_trip(Contents{})), *serialize(Contents{}));
}

TEST(Dump, AnOrderOfTheFilesOwnComesBack) {
  auto contents = contents_of({{1, 1, Kind::note, "a", "", {}},
                               {2, 1, Kind::archive, "b", "", {}},
                               {3, 1, Kind::note, "c", "", {}}});
  EXPECT_EQ(bytes_of(to_tree(contents), "memory.json"), "{\"nextId\":4}\n");
  contents.order = {3, 1, 2};
  EXPECT_EQ(bytes_of(to_tree(contents), "memory.json"), "{\"nextId\":4,\"order\":[3,1,2]}\n");
  EXPECT_EQ(*serialize(round_trip(contents)), *serialize(contents));
  EXPECT_NE(*serialize(contents), *serialize(contents_of({})));
  // An order with ids that do not exist does no harm.
  contents.order = {3, 3, 77};
  EXPECT_EQ(*serialize(*parse(*serialize(contents))), *serialize(contents));
  EXPECT_EQ(*serialize(round_trip(contents)), *serialize(contents));
}

TEST(Dump, FilesThatPeopleWriteAreTaken) {
  auto tree = to_tree(contents_of({{5, 1, Kind::note, "old", "x", {}}}));
  tree.push_back({"notes/new.md", "just text\n"});
  tree.push_back({"archives/other.md",
                  "\xEF\xBB\xBF"
                  "no newline"});
  tree.push_back({"notes/.swp.md", "an editor's"});
  tree.push_back({"notes/readme.txt", "not an entry"});
  tree.push_back({"theme/x.md", "not ours"});
  // CrabTalk writes it like this.
  tree.push_back({"notes/theirs.md",
                  "<div id=\"meta\">\n<dl>\n  <dt>Created</dt>\n  <dd><time "
                  "datetime=\"2026-04-14T10:23:45Z\">2026-04-14T10:23:45Z</time></dd>\n"
                  "  <dt>Aliases</dt>\n  <dd>\n    <ul>\n      <li>t &amp; t</li>\n    </ul>\n  "
                  "</dd>\n</dl>\n</div>\n\nhello\n"});
  const auto contents = test::value_of(from_tree(tree, 77));
  ASSERT_EQ(contents.entries.size(), 4U);
  EXPECT_EQ(*contents.entries[1], (Entry{6, 77, Kind::note, "new", "just text", {}}));
  EXPECT_EQ(*contents.entries[2], (Entry{7, 77, Kind::archive, "other", "no newline", {}}));
  EXPECT_EQ(*contents.entries[3], (Entry{8, kTime, Kind::note, "theirs", "hello", {"t & t"}}));
  EXPECT_EQ(contents.next_id, 9U);
}

TEST(Dump, MistakesAreReportedWithTheirFile) {
  const auto card = [](const std::string& rows) {
    return "<div id=\"meta\">\n<dl>" + rows + "</dl>\n</div>\n\nx\n";
  };
  const auto expect_bad = [](const std::vector<TreeFile>& tree, std::string_view why) {
    const auto contents = from_tree(tree, 1);
    ASSERT_FALSE(contents) << why;
    EXPECT_EQ(contents.error().code, Errc::invalid);
    EXPECT_NE(contents.error().what.find(why), std::string::npos) << contents.error().what;
  };
  expect_bad({{"notes/a.md", "\xff"}}, "notes/a.md: not valid UTF-8");
  expect_bad({{"notes/\xff.md", "x"}}, "the file's name is not valid UTF-8");
  expect_bad({{"notes/a\nb.md", "x"}}, "must not hold control characters");
  expect_bad({{"notes/a.md", "<div id=\"meta\">\n<dl>"}},
             "notes/a.md: the card at the top has no end");
  expect_bad({{"notes/a.md", card("<dt>Created</dt><dd>yesterday</dd>")}},
             "notes/a.md: Created: 'yesterday' is not a time");
  expect_bad({{"notes/a.md", card("<dt>Id</dt><dd>-1</dd>")}}, "Id: '-1' is not a number");
  expect_bad({{"notes/a.md", card("<dt>Id</dt><dd>99999999999999999999</dd>")}}, "is not a number");
  expect_bad({{"notes/a.md", card("<dt>Id</dt>")}}, "Id: the row has no <dd>");
  expect_bad({{"notes/a.md", card("<dt>Aliases</dt><dd>ship</dd>")}}, "is not a list of <li>");
  expect_bad({{"notes/a.md", "x"}, {"archives/a.md", "y"}},
             "notes/a.md and archives/a.md are both named 'a'");
  const auto same_id = card("<dt>Id</dt><dd>7</dd>");
  expect_bad({{"notes/a.md", same_id}, {"notes/b.md", same_id}},
             "notes/a.md and notes/b.md have the same Id 7");
  const auto ship = card("<dt>Aliases</dt><dd><ul><li>ship</li></ul></dd>");
  expect_bad({{"notes/a.md", ship}, {"notes/b.md", ship}},
             "notes/b.md: alias 'ship' is taken by notes/a.md");
  expect_bad({{"notes/a.md", ship}, {"notes/ship.md", "x"}},
             "alias 'ship' is taken by notes/ship.md");
  expect_bad({{"memory.json", "{"}}, "memory.json");
  expect_bad({{"memory.json", "[]"}}, "memory.json: not a JSON object");
  expect_bad({{"memory.json", R"({"nextId":-1})"}}, "memory.json: nextId is not a number");
  expect_bad({{"memory.json", R"({"nextId":1,"order":["x"]})"}},
             "memory.json: order is not a list of ids");
  expect_bad({{"memory.json", R"({"nextId":18446744073709551615})"}, {"notes/a.md", "x"}},
             "no more ids");
}

TEST(Dump, NewFilesObeyTheLimitsOfWrites) {
  const auto expect_large = [](const std::string& bytes, std::string_view why) {
    const auto contents = from_tree({{"notes/a.md", bytes}}, 1);
    ASSERT_FALSE(contents) << why;
    EXPECT_EQ(contents.error().code, Errc::too_large);
    EXPECT_NE(contents.error().what.find(why), std::string::npos) << contents.error().what;
  };
  expect_large(std::string((1U << 20) + 1, 'x') + "\n",
               "notes/a.md: an entry's content has at most");
  std::string aliases;
  for (int i = 0; i < 65; ++i) aliases += "<li>" + std::to_string(i) + "</li>";
  expect_large(
      "<div id=\"meta\"><dl><dt>Aliases</dt><dd><ul>" + aliases + "</ul></dd></dl></div>\n",
      "notes/a.md: an entry has at most 64 aliases");
}

class TreeTest : public testing::Test {
 protected:
  void write(const std::string& path, const std::string& bytes) {
    test::write_file(folder / path, bytes);
  }
  Status dump(const Contents& contents) { return write_tree(files, folder.path(), contents); }
  Contents load() {
    return test::value_of(from_tree(test::value_of(read_tree(files, folder.path())), 1));
  }

  TempDir folder;
  PosixFiles files;
};

TEST_F(TreeTest, ADumpOnDiskComesBackAndTheNextOneLeavesNoOrphans) {
  const auto first = contents_of(
      {{0, 1, Kind::note, "gone soon", "x", {}}, {0, 2, Kind::archive, "a/b", "y", {"z"}}});
  ASSERT_TRUE(dump(first));
  EXPECT_EQ(*serialize(load()), *serialize(first));
  EXPECT_NE(test::read_file(folder / "book.toml").find("src = \".\""), std::string::npos);

  write("book.toml", "mine");
  ::mkdir((folder / "theme").c_str(), 0700);
  write("theme/x.css", "mine");
  write("notes/picture.png", "mine");
  auto second = first;
  second.entries.erase(second.entries.begin());
  ASSERT_TRUE(dump(second));
  EXPECT_FALSE(test::exists(folder / "notes/gone soon.md"));
  EXPECT_EQ(test::read_file(folder / "book.toml"), "mine");
  EXPECT_EQ(test::read_file(folder / "theme/x.css"), "mine");
  EXPECT_EQ(test::read_file(folder / "notes/picture.png"), "mine");
  EXPECT_EQ(*serialize(load()), *serialize(second));
}

TEST_F(TreeTest, AFolderOfTheUsersIsNotTouched) {
  ::mkdir((folder / "notes").c_str(), 0700);
  write("notes/diary.md", "years of it");
  const auto done = dump(contents_of({{0, 1, Kind::note, "a", "x", {}}}));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Errc::conflict);
  EXPECT_EQ(test::read_file(folder / "notes/diary.md"), "years of it");
  EXPECT_FALSE(test::exists(folder / "SUMMARY.md"));
}

TEST_F(TreeTest, AFolderThatIsNoDumpIsNotLoaded) {
  EXPECT_EQ(read_tree(files, folder.path()).error().code, Errc::not_found);
  EXPECT_EQ(read_tree(files, folder / "missing").error().code, Errc::not_found);
  ::mkdir((folder / "notes").c_str(), 0700);
  ::mkdir((folder / "notes/deeper").c_str(), 0700);
  EXPECT_NE(read_tree(files, folder.path()).error().what.find("notes/deeper is a folder"),
            std::string::npos);
}

TEST_F(TreeTest, ABookOfTheUsersIsNotTouched) {
  const auto one = contents_of({{0, 1, Kind::note, "a", "x", {}}});
  const auto expect_refused = [&](const std::string& file) {
    const auto done = dump(one);
    ASSERT_FALSE(done) << file;
    EXPECT_EQ(done.error().code, Errc::conflict);
    EXPECT_NE(done.error().what.find("/" + file + ": no dump made it"), std::string::npos)
        << done.error().what;
    EXPECT_FALSE(test::exists(folder / "notes/a.md"));
    EXPECT_FALSE(test::exists(folder / "book.toml"));
  };
  // A book of the user's own is refused because of its table of contents alone.
  write("SUMMARY.md", "# Summary\n\n- [Mine](mine.md)\n");
  expect_refused("SUMMARY.md");
  EXPECT_EQ(test::read_file(folder / "SUMMARY.md"), "# Summary\n\n- [Mine](mine.md)\n");
  // This table of contents looks like a dump's, but the notes have no metadata.
  ::mkdir((folder / "notes").c_str(), 0700);
  write("SUMMARY.md", "# Summary\n\n# Notes\n\n- [mine](notes/mine.md)\n");
  write("notes/mine.md", "years of it");
  expect_refused("notes/mine.md");
  write("notes/mine.md", "<div id=\"meta\">\n<dl>\n</dl>\n</div>\n\nmy own layout");
  expect_refused("notes/mine.md");
  write("notes/mine.md", "<div id=\"meta\">\nnever closed");
  expect_refused("notes/mine.md");
  ASSERT_TRUE(files.remove(folder / "notes/mine.md"));
  ASSERT_TRUE(files.remove(folder / "SUMMARY.md"));
  write("notes/list.txt", "no dump left a mark here");
  expect_refused("notes/list.txt");
  ASSERT_TRUE(files.remove(folder / "notes/list.txt"));
  write("memory.json", "{\"size\":3}");
  expect_refused("memory.json");
  EXPECT_EQ(test::read_file(folder / "memory.json"), "{\"size\":3}");
  ASSERT_TRUE(files.remove(folder / "memory.json"));
  EXPECT_TRUE(dump(one)) << "an empty folder is nobody's";
}

TEST_F(TreeTest, AFolderInAFilesPlaceIsFoundBeforeAnythingIsWritten) {
  auto contents = contents_of({{0, 1, Kind::note, "a", "x", {}}});
  ASSERT_TRUE(dump(contents));
  const auto old = test::read_file(folder / "memory.json");
  contents = contents_of({{0, 1, Kind::note, "a", "new", {}}, {0, 1, Kind::note, "b", "", {}}});
  for (const std::string in_the_way :
       {"SUMMARY.md", "memory.json", "SUMMARY.md.tmp", "notes/a.md", "notes/b.md.tmp"}) {
    const auto had = test::exists(folder / in_the_way) ? test::read_file(folder / in_the_way) : "";
    static_cast<void>(files.remove(folder / in_the_way).ok());
    ASSERT_EQ(::mkdir((folder / in_the_way).c_str(), 0700), 0);
    const auto done = dump(contents);
    ASSERT_FALSE(done) << in_the_way;
    EXPECT_EQ(done.error().code, Errc::conflict);
    EXPECT_NE(done.error().what.find(in_the_way + ": no dump made it (it is a folder)"),
              std::string::npos)
        << done.error().what;
    ASSERT_EQ(::rmdir((folder / in_the_way).c_str()), 0) << "it is as it was";
    if (!had.empty()) write(in_the_way, had);
    EXPECT_EQ(test::read_file(folder / "memory.json"), old);
    EXPECT_FALSE(test::exists(folder / "notes/b.md"));
    EXPECT_FALSE(test::exists(folder / "SUMMARY.md.tmp"));
  }
  EXPECT_TRUE(dump(contents));
}

TEST_F(TreeTest, AFailureLeavesNoTemporaryFile) {
  const auto contents = contents_of({{0, 1, Kind::note, "a", "x", {}}});
  int failures = 0;
  for (int nth = 1;; ++nth) {
    const TempDir fresh;
    test::FaultyFiles faulty;
    faulty.fail_at(nth, ENOSPC);
    const auto done = write_tree(faulty, fresh.path(), contents);
    if (!faulty.hit()) break;
    failures += done ? 0 : 1;
    for (const auto* file : {"memory.json", "SUMMARY.md", "book.toml", "notes/a.md"})
      EXPECT_FALSE(test::exists(fresh / (std::string(file) + ".tmp"))) << file << " at " << nth;
  }
  EXPECT_GT(failures, 10);
}

TEST_F(TreeTest, ADumpOfCrabTalksIsReplaced) {
  ::mkdir((folder / "notes").c_str(), 0700);
  ::mkdir((folder / "archives").c_str(), 0700);
  write("SUMMARY.md",
        "# Summary\n\n# Notes\n\n- [a (b)](notes/a (b).md)\n\n# Archives\n\n"
        "- [w](archives/w.md)\n\n# Prompts\n\n- [p](prompts/p.md)\n\n");
  const std::string card =
      "<div id=\"meta\">\n<dl>\n  <dt>Created</dt>\n  <dd><time "
      "datetime=\"2026-04-14T10:23:45Z\">2026-04-14T10:23:45Z</time></dd>\n</dl>\n</div>\n\nx\n";
  write("notes/a (b).md", card);
  write("archives/w.md", card);
  write("book.toml", "theirs");
  const auto one = contents_of({{0, 1, Kind::note, "mine", "y", {}}});
  ASSERT_TRUE(dump(one));
  EXPECT_FALSE(test::exists(folder / "notes/a (b).md"));
  EXPECT_FALSE(test::exists(folder / "archives/w.md"));
  EXPECT_EQ(test::read_file(folder / "book.toml"), "theirs");
  EXPECT_EQ(*serialize(load()), *serialize(one));
}

TEST_F(TreeTest, AFileThePersonAddedGoesOnlyWhenTheMemoryHasIt) {
  auto contents = contents_of({{0, 1, Kind::note, "a", "x", {}}});
  ASSERT_TRUE(dump(contents));
  write("notes/100%.md", "new, and not loaded yet\n");
  const auto done = dump(contents);
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().what.find("notes/100%.md: no dump made it"), std::string::npos)
      << done.error().what;
  EXPECT_EQ(test::read_file(folder / "notes/100%.md"), "new, and not loaded yet\n");
  contents = load();
  ASSERT_TRUE(dump(contents));
  EXPECT_FALSE(test::exists(folder / "notes/100%.md")) << "it is 100%25.md now";
  EXPECT_EQ(*serialize(load()), *serialize(contents));
  // A dump that was cut off before it wrote SUMMARY.md is a dump.
  ASSERT_TRUE(files.remove(folder / "SUMMARY.md"));
  EXPECT_TRUE(dump(contents));
}

}  // namespace
}  // namespace reef::memory
