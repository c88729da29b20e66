// read, write, edit, submit_plan, and where they may go.
#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

#include "base/base64.h"
#include "base/task_group.h"
#include "base/utf8.h"
#include "hooks/os_call_needs.h"

namespace reef::hooks::os {
namespace {

namespace fs = std::filesystem;
using test::read_file;
using test::write_file;

class OsFiles : public DeskTest {
 protected:
  std::string edited(const std::string& from, const std::string& to, bool all = false) {
    return told(
        edit, {{"path", "a.txt"}, {"old_string", from}, {"new_string", to}, {"replace_all", all}});
  }
  // Writes a.txt and reads it with the tool, because only files that were read may be edited.
  void have(const std::string& bytes) {
    write_file(work("a.txt"), bytes);
    EXPECT_FALSE(call(read, {{"path", "a.txt"}}).is_error);
  }
  std::string bytes() const { return read_file(work("a.txt")); }
};

TEST_F(OsFiles, ReadNumbersLinesAndSaysWhatPartItIs) {
  write_file(work("a.txt"), "one\r\ntwo\nthree");
  EXPECT_EQ(told(read, {{"path", "a.txt"}}), "1\tone\n2\ttwo\n3\tthree\n\n--- 3 total lines ---");
  EXPECT_EQ(told(read, {{"path", "a.txt"}, {"offset", 2}, {"limit", 1}}),
            "2\ttwo\n\n--- 3 total lines (showing lines 2-2) ---");
  EXPECT_EQ(told(read, {{"path", "a.txt"}, {"offset", 9}}),
            "--- 3 total lines (offset 9 is past the end of the file) ---");
  EXPECT_EQ(told(read, {{"path", "a.txt"}, {"limit", UINT64_MAX}, {"offset", 3}}),
            "3\tthree\n\n--- 3 total lines (showing lines 3-3) ---");
  write_file(work("empty"), "");
  EXPECT_EQ(told(read, {{"path", "empty"}}), "--- the file is empty ---");
  write_file(work("bom"), "\xef\xbb\xbfhello\n");
  EXPECT_EQ(told(read, {{"path", "bom"}}), "1\thello\n\n--- 1 total lines ---");
}

TEST_F(OsFiles, ReadIsBoundedAndSaysSo) {
  write_file(work("long"), std::string(100'000, 'x') + "\nshort\n");
  const auto text = told(read, {{"path", "long"}});
  EXPECT_LT(text.size(), 2200U);
  EXPECT_NE(text.find("[cut: the line has 100000 bytes]\n2\tshort"), std::string::npos);
  std::string many;
  for (int i = 0; i < 5000; ++i) many += std::string(100, 'y') + "\n";
  write_file(work("many"), many);
  const auto part = told(read, {{"path", "many"}});
  EXPECT_LT(part.size(), needs.shown_bytes + 200);
  EXPECT_NE(part.find("5000 total lines (showing lines 1-"), std::string::npos);
  EXPECT_NE(part.find("there was no room for more"), std::string::npos);
}

TEST_F(OsFiles, ReadShowsImagesAndNamesWhatIsNotText) {
  const std::string png = std::string("\x89PNG\r\n\x1a\n") + std::string(40, '\0');
  write_file(work("a.png"), png);
  const auto answer = call(read, {{"path", "a.png"}});
  EXPECT_EQ(answer.text, "image/png, 48 bytes");
  ASSERT_EQ(answer.images.size(), 1U);
  EXPECT_EQ(answer.images[0].mime_type, "image/png");
  EXPECT_EQ(answer.images[0].data, to_base64(png));
  write_file(work("big.png"), png + std::string(5'000'000, 'x'));
  EXPECT_EQ(told(read, {{"path", "big.png"}}),
            "ERROR: the image (image/png) has 5000048 bytes; up to 5000000 can be shown");
  write_file(work("junk.pdf"), "%PDF-1.7 \x01\x02");
  EXPECT_EQ(told(read, {{"path", "junk.pdf"}}),
            "ERROR: junk.pdf is not text but application/pdf, 11 bytes");
  write_file(work("junk"), std::string("a\0b", 3));
  EXPECT_NE(told(read, {{"path", "junk"}}).find("is not text"), std::string::npos);
  write_file(work("latin"), "caf\xe9\n");
  const auto latin = told(read, {{"path", "latin"}});
  EXPECT_TRUE(latin.starts_with("1\tcaf\xef\xbf\xbd\n")) << latin;
  EXPECT_TRUE(utf8::valid(latin));
}

TEST_F(OsFiles, HostilePathsAreRefusedInWords) {
  fs::create_directory(work("dir"));
  ::mkfifo(work("pipe").c_str(), 0600);
  fs::create_symlink("loop2", work("loop1"));
  fs::create_symlink("loop1", work("loop2"));
  fs::create_symlink("nowhere", work("dangling"));
  const auto error = [&](const std::string& path) { return told(read, {{"path", path}}); };
  EXPECT_EQ(error(""), "ERROR: the path is empty");
  EXPECT_EQ(error(std::string("a\0b", 3)), "ERROR: the path holds a NUL character");
  EXPECT_NE(error(std::string(5000, 'a')).find("5000 bytes"), std::string::npos);
  EXPECT_NE(error("dir").find("is a folder; ls shows"), std::string::npos);
  EXPECT_NE(error("pipe").find("is a pipe, not a file"), std::string::npos);
  EXPECT_NE(error("/dev/zero").find("is a device, not a file"), std::string::npos);
  EXPECT_TRUE(error("loop1").starts_with("ERROR: ")) << error("loop1");
  EXPECT_TRUE(error("dangling").starts_with("ERROR: "));
  EXPECT_TRUE(error("missing/../a").starts_with("ERROR: "));
  EXPECT_NE(error("/proc/self/environ").find("look with bash"), std::string::npos);
  EXPECT_NE(error("/proc/self/fd/0").find("ERROR: "), std::string::npos);
  EXPECT_NE(told(edit, {{"path", "pipe"}, {"old_string", "a"}, {"new_string", "b"}}).find("a pipe"),
            std::string::npos);
  EXPECT_NE(told(write, {{"path", "dir"}, {"content", "x"}}).find("is a folder"),
            std::string::npos);
  EXPECT_NE(told(write, {{"path", "dangling"}, {"content", "x"}}).find("leads nowhere"),
            std::string::npos);
  const int big = ::open(work("huge").c_str(), O_CREAT | O_WRONLY, 0600);
  ASSERT_EQ(::ftruncate(big, off_t{1} << 40), 0);
  ::close(big);
  EXPECT_NE(error("huge").find("1099511627776 bytes"), std::string::npos);
}

TEST_F(OsFiles, ReefsOwnHomeIsClosedButForTheSession) {
  write_file(folder / "reef/config.toml", "key");
  write_file(folder / "reef/sessions/260202-c-d/session.jsonl", "theirs");
  write_file(needs.paths.session + "/long_responses/a.txt", "mine");
  fs::create_symlink(folder / "reef", work("way"));
  for (const auto& path :
       {folder / "reef/config.toml", std::string("way/config.toml"),
        std::string("../reef/config.toml"), folder / "reef/sessions/260202-c-d/session.jsonl"}) {
    EXPECT_NE(told(read, {{"path", path}}).find("closed to tools"), std::string::npos) << path;
    EXPECT_NE(told(grep, {{"path", path}, {"pattern", "."}}).find("closed to tools"),
              std::string::npos);
    EXPECT_NE(told(write, {{"path", path}, {"content", "x"}}).find("closed to tools"),
              std::string::npos);
  }
  EXPECT_NE(told(ls, {{"path", "way"}}).find("closed to tools"), std::string::npos);
  EXPECT_EQ(told(grep, {{"path", folder.path()}, {"pattern", "key|theirs|mine"}}), "no matches");
  EXPECT_EQ(told(grep, {{"path", needs.paths.session}, {"pattern", "key|theirs|mine"}}),
            needs.paths.session + "/long_responses/a.txt:1: mine\n");
  EXPECT_FALSE(call(read, {{"path", needs.paths.session + "/long_responses/a.txt"}}).is_error);
  for (const auto* name : {"/session.jsonl", "/plans/a.txt", "/plans/.a.md", "/plans/a/b.md"})
    EXPECT_NE(told(write, {{"path", needs.paths.session + name}, {"content", "x"}})
                  .find("nothing but plans"),
              std::string::npos)
        << name;
  EXPECT_FALSE(
      call(write, {{"path", needs.paths.session + "/plans/a.md"}, {"content", "x"}}).is_error);
  EXPECT_NE(told(write, {{"path", needs.paths.session + "/plans/../x.md"}, {"content", "x"}})
                .find("nothing but plans"),
            std::string::npos);
}

TEST_F(OsFiles, SendersFromOutsideStayInTheirFolder) {
  write_file(work("a.txt"), "a");
  write_file(folder / "home/secret", "s");
  fs::create_symlink(folder / "home/secret", work("link"));
  needs.paths.confined = needs.paths.cwd;
  EXPECT_FALSE(call(read, {{"path", "a.txt"}}).is_error);
  for (const auto* path : {"~/secret", "link", "../home/secret", "/etc/passwd"})
    EXPECT_NE(told(read, {{"path", path}}).find("senders from outside"), std::string::npos) << path;
}

TEST_F(OsFiles, WriteMakesFoldersAndKeepsTheUsersUmask) {
  const auto answer = call(write, {{"path", "a/b/c.txt"}, {"content", "x\n"}});
  EXPECT_EQ(answer.text, "created a/b/c.txt (+1 -0 lines)");
  EXPECT_EQ(answer.details.at("diff"), "--- /dev/null\n+++ b/a/b/c.txt\n@@ -0,0 +1 @@\n+x\n");
  EXPECT_EQ(read_file(work("a/b/c.txt")), "x\n");
  EXPECT_EQ(fs::status(work("a/b/c.txt")).permissions(), fs::perms(0644));
  EXPECT_EQ(fs::status(work("a/b")).permissions(), fs::perms(0755));
  EXPECT_EQ(told(write, {{"path", "~/n"}, {"content", ""}}),
            "created " + (folder / "home/n") + " (+0 -0 lines)");
}

TEST_F(OsFiles, WriteReplacesOnlyWhatWasRead) {
  write_file(work("a.txt"), "old");
  EXPECT_EQ(told(write, {{"path", "a.txt"}, {"content", "new"}}),
            "ERROR: you must read a.txt before changing it");
  call(read, {{"path", "a.txt"}});
  EXPECT_EQ(told(write, {{"path", "a.txt"}, {"content", "new"}}), "wrote a.txt (+1 -1 lines)");
  EXPECT_EQ(told(write, {{"path", "a.txt"}, {"content", "newer"}}), "wrote a.txt (+1 -1 lines)")
      << "its own words it knows";
  write_file(work("a.txt"), "theirs");
  EXPECT_EQ(told(write, {{"path", "a.txt"}, {"content", "mine"}}),
            "ERROR: a.txt was changed by somebody else since you read it; read it again");
  EXPECT_EQ(bytes(), "theirs");
}

TEST_F(OsFiles, EditWantsExactlyOneMatchInAFileThatWasRead) {
  write_file(work("a.txt"), "one two two\n");
  EXPECT_EQ(edited("one", "1"), "ERROR: you must read a.txt before changing it");
  have("one two two\n");
  EXPECT_EQ(edited("three", "3"), "ERROR: old_string not found");
  EXPECT_TRUE(
      edited("two", "2").starts_with("ERROR: old_string is not unique, found 2 occurrences"));
  EXPECT_EQ(edited("", "2"), "ERROR: old_string must not be empty");
  EXPECT_EQ(edited("one", "one"), "ERROR: old_string and new_string are identical");
  EXPECT_EQ(told(edit, {{"path", "a.txt"}}),
            "ERROR: nothing to change: give old_string and new_string, or edits");
  EXPECT_EQ(bytes(), "one two two\n");
  EXPECT_EQ(edited("one", "1"), "made 1 replacement(s) in a.txt (+1 -1 lines)");
  EXPECT_EQ(edited("two", "2", true), "made 2 replacement(s) in a.txt (+1 -1 lines)");
  EXPECT_EQ(bytes(), "1 2 2\n");
  EXPECT_EQ(edited("2 2", ""), "made 1 replacement(s) in a.txt (+1 -1 lines)");
  EXPECT_EQ(bytes(), "1 \n");
}

TEST_F(OsFiles, SeveralEditsAreAllOrNone) {
  have("a\nb\nc\n");
  const auto edits = [](std::initializer_list<std::pair<const char*, const char*>> list) {
    json::array out;
    for (const auto& [from, to] : list)
      out.push_back(json::object{{"old_string", from}, {"new_string", to}});
    return json::object{{"path", "a.txt"}, {"edits", std::move(out)}};
  };
  EXPECT_EQ(told(edit, edits({{"a", "x"}, {"q", "y"}})),
            "ERROR: edit 2 of 2: old_string not found");
  EXPECT_EQ(bytes(), "a\nb\nc\n");
  const auto answer = call(edit, edits({{"a", "aa"}, {"aa\nb", "b"}, {"c", "d"}}));
  EXPECT_EQ(answer.text, "made 3 replacement(s) in a.txt (+1 -2 lines)");
  EXPECT_EQ(bytes(), "b\nd\n");
  EXPECT_EQ(answer.details.at("diff"),
            "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,2 @@\n-a\n b\n-c\n+d\n");
  EXPECT_EQ(told(edit, {{"path", "a.txt"}, {"edits", {json::object{{"old_string", "b"}}}}}),
            "ERROR: invalid arguments: 'edits[0].new_string' must be a text");
}

TEST_F(OsFiles, EditRefusesWhatChangedSinceItWasRead) {
  have("a\n");
  write_file(work("a.txt"), "a\nmore\n");
  EXPECT_NE(edited("a", "b").find("changed by somebody else"), std::string::npos);
  have("a\n");
  fs::last_write_time(work("a.txt"), fs::file_time_type::clock::now() - std::chrono::hours(1));
  EXPECT_FALSE(edited("a", "b").starts_with("ERROR")) << "the same bytes are the same file";
  fs::remove(work("a.txt"));
  EXPECT_TRUE(edited("b", "c").starts_with("ERROR: "));
}

TEST_F(OsFiles, EditKeepsModeLineEndsAndMarkAndFollowsLinks) {
  have("\xef\xbb\xbfone\r\ntwo\r\n");
  fs::permissions(work("a.txt"), fs::perms(0751));
  EXPECT_FALSE(edited("one\ntwo", "1\n2\n3").starts_with("ERROR"));
  EXPECT_EQ(bytes(),
            "\xef\xbb\xbf"
            "1\r\n2\r\n3\r\n");
  EXPECT_FALSE(edited("2", "2a\n2b").starts_with("ERROR"));
  EXPECT_EQ(bytes(),
            "\xef\xbb\xbf"
            "1\r\n2a\r\n2b\r\n3\r\n");
  EXPECT_EQ(fs::status(work("a.txt")).permissions(), fs::perms(0751));
  have("mixed\r\nends\nhere\r\n");
  EXPECT_FALSE(edited("ends\n", "END\n").starts_with("ERROR"));
  EXPECT_FALSE(edited("mixed\nEND", "m\ne").starts_with("ERROR"));
  EXPECT_EQ(bytes(), "m\r\ne\nhere\r\n");
  write_file(work("real"), "x");
  fs::create_symlink("real", work("link"));
  call(read, {{"path", "link"}});
  EXPECT_FALSE(call(edit, {{"path", "link"}, {"old_string", "x"}, {"new_string", "y"}}).is_error);
  EXPECT_TRUE(fs::is_symlink(work("link")));
  EXPECT_EQ(read_file(work("real")), "y");
  have("caf\xe9 au lait");
  EXPECT_FALSE(edited("au", "con").starts_with("ERROR"));
  EXPECT_EQ(bytes(), "caf\xe9 con lait");
}

TEST_F(OsFiles, EditKeepsTheOwnerAndRefusesHardLinks) {
  if (::geteuid() == 0) {
    have("x");
    ASSERT_EQ(::chown(work("a.txt").c_str(), 1234, 4321), 0);
    EXPECT_FALSE(edited("x", "y").starts_with("ERROR"));
    struct ::stat info = {};
    ASSERT_EQ(::stat(work("a.txt").c_str(), &info), 0);
    EXPECT_EQ(info.st_uid, 1234U);
    EXPECT_EQ(info.st_gid, 4321U);
  }
  have("x");
  fs::create_hard_link(work("a.txt"), work("b.txt"));
  EXPECT_NE(edited("x", "y").find("2 names (hard links)"), std::string::npos);
  EXPECT_EQ(bytes(), "x");
  EXPECT_EQ(std::distance(fs::directory_iterator(work("")), fs::directory_iterator()), 2)
      << "nothing is left behind";
}

Task<void> add_line(const CallNeeds& needs, int number, int& failures) {
  co_await yield_to_loop();
  const json::object arguments{
      {"path", "a.txt"}, {"old_string", "end"}, {"new_string", std::to_string(number) + "\nend"}};
  const auto answer = co_await edit(needs, arguments);
  failures += answer.is_error ? 1 : 0;
}

TEST_F(OsFiles, EditsOfOneStepDoNotLoseEachOther) {
  have("end\n");
  int failures = 0;
  TaskGroup tasks(io.get_executor(), "edits");
  for (int i = 0; i < 20; ++i) tasks.spawn(add_line(needs, i, failures));
  test::run(io, tasks.join());
  EXPECT_EQ(failures, 0);
  const auto text = bytes();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 21);
}

TEST_F(OsFiles, APlanIsHandedInAndHandedInAgain) {
  EXPECT_EQ(told(submit_plan, {{"name", "move.md"}, {"content", "1. pack"}}),
            "plan 'move' is handed in; the user accepts it with: reef plan accept 260101-a-b move");
  EXPECT_FALSE(call(submit_plan, {{"name", "move"}, {"content", "2. go"}}).is_error);
  EXPECT_EQ(read_file(needs.paths.session + "/plans/move.md"), "2. go");
  for (const auto* name : {"", "..", "a/b", ".hidden", "a b", "\xc3\xa9"})
    EXPECT_TRUE(call(submit_plan, {{"name", name}, {"content", "x"}}).is_error) << name;
}

TEST_F(OsFiles, FilesReadInOneSessionAreUnreadInAnother) {
  have("x");
  needs.session = test::value_of(session::SessionId::parse("260202-c-d"));
  EXPECT_EQ(edited("x", "y"), "ERROR: you must read a.txt before changing it");
}

}  // namespace
}  // namespace reef::hooks::os
