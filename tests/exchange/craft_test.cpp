#include "exchange/craft/craft.h"

#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/base64.h"
#include "exchange/craft/bundle.h"
#include "support/exchange.h"
#include "support/memory_files.h"
#include "support/run.h"
#include "support/temp_dir.h"

namespace reef::exchange {
namespace {

using test::MemoryFiles;
using test::MemoryIntake;
using test::value_of;

using Lines = std::vector<std::string>;

constexpr std::string_view kWorkspace = "/h/.craft-agent/workspaces/lab";
constexpr std::string_view kCraftHeader =
    R"({"id":"260304-keen-otter","workspaceRootPath":"~/.craft-agent/workspaces/lab","sdkSessionId":"0d1c","sdkCwd":"/code/app","createdAt":1772600000000,"lastUsedAt":1772600900000,"name":"Parser speedup","sessionStatus":"needs-review","labels":["code","priority::2"],"isFlagged":true,"hasUnread":true,"permissionMode":"ask-to-edit","workingDirectory":"/code/app","model":"some-model","thinkingLevel":"max","messageCount":4,"preview":"x","tokenUsage":{"costUsd":0.07},"future":{"a":1}})";

class Craft : public testing::Test {
 protected:
  std::string folder(const std::string& id) {
    return fmt::format("{}/sessions/{}", kWorkspace, id);
  }
  void put_session(const Lines& lines, const std::string& id = "260304-keen-otter") {
    std::string bytes;
    for (const auto& line : lines) bytes += line + "\n";
    files_.put(folder(id) + "/session.jsonl", bytes);
  }
  void read(const std::string& path = "/h/.craft-agent") {
    value_of(read_craft(files_, path, intake_));
  }
  const MemoryIntake::Session& only() {
    EXPECT_EQ(intake_.sessions().size(), 1U);
    return intake_.sessions().at(0);
  }

  MemoryFiles files_;
  MemoryIntake intake_{files_};
};

TEST_F(Craft, ASessionFolderBecomesASession) {
  put_session({
      std::string(kCraftHeader),
      R"({"id":"msg-1772600700000-q9w8e7","content":"Make the parser faster","timestamp":1772600700000,"type":"user"})",
      R"({"id":"msg-1772600710000-z1x2c3","content":"Looking at the hot loop first. 🔥","timestamp":1772600710000,"isIntermediate":true,"turnId":"msg_01AB","type":"assistant"})",
      R"({"id":"msg-1772600711000-v4b5n6","content":"Running Read...","timestamp":1772600711000,"toolName":"Read","toolUseId":"toolu_7","toolInput":{"file_path":"./src/p.c"},"toolStatus":"completed","toolIntent":"inspect parser","turnId":"msg_01AB","toolResult":"1 int main","isError":false,"type":"tool"})",
      R"({"id":"msg-1772600712000-v4b5n7","content":"Running Bash...","timestamp":1772600712000,"toolName":"Bash","toolUseId":"toolu_8","toolInput":{},"toolStatus":"error","toolResult":"exit 1","isError":true,"type":"tool"})",
      R"({"id":"msg-1772600713000-v4b5n8","timestamp":1772600713000,"toolName":"Task","toolUseId":"toolu_9","toolStatus":"executing","type":"tool"})",
      R"({"id":"msg-1772600800000-a1b2c3","content":"Done: replaced the table.","timestamp":1772600800000,"type":"assistant"})",
      R"({"id":"plan-1772600805000-p0p0p0","content":"# Plan","timestamp":1772600805000,"planPath":"{{SESSION_PATH}}/plans/speed.md","type":"plan"})",
      R"({"id":"msg-1772600806000-e0e0e0","content":"Rate limited: slow down","timestamp":1772600806000,"errorCode":"rate_limited","type":"error"})",
      R"({"id":"msg-1772600807000-i0i0i0","content":"Compacted","timestamp":1772600807000,"statusType":"compaction_complete","type":"info"})",
      R"({"id":"msg-1772600808000-h0h0h0","content":"Credentials needed","timestamp":1772600808000,"authRequestId":"r1","type":"auth-request"})",
  });
  read();
  EXPECT_TRUE(intake_.problems().empty());
  const auto& session = only();
  EXPECT_EQ(
      session.said(),
      (Lines{"user: Make the parser faster", "assistant: Looking at the hot loop first. 🔥",
             R"(call Read {"file_path":"./src/p.c"})", "result Read: 1 int main", "call Bash {}",
             "failure Bash: exit 1", "call Task {}", "assistant: Done: replaced the table.",
             "assistant: # Plan", "error: Rate limited: slow down"}));
  EXPECT_EQ(session.head.origin, "craft:260304-keen-otter@1772600000000");
  EXPECT_EQ(session.head.id, "260304-keen-otter");
  EXPECT_EQ(session.head.cwd, "/code/app");
  const auto row = session.row();
  EXPECT_EQ(row.name(), "Parser speedup");
  EXPECT_EQ(row.text("sessionStatus"), "needs-review");
  EXPECT_EQ(json::write(row.meta.at("labels")), R"(["code","priority::2"])");
  EXPECT_TRUE(row.flag("isFlagged"));
  EXPECT_TRUE(row.flag("hasUnread"));
  EXPECT_EQ(row.text("permissionMode"), "ask");
  EXPECT_EQ(row.text("thinkingLevel"), "xhigh");
  EXPECT_EQ(format_iso(row.updated), "2026-03-04T05:06:46.000Z");
  // Fields that have no place of their own are kept in a custom entry.
  EXPECT_EQ(session.entries[0].body.at("customType"), "craft.header");
  const auto& rest = session.entries[0].body.at("data").get_object();
  EXPECT_TRUE(rest.contains("future") && rest.contains("tokenUsage") && rest.contains("model"));
  EXPECT_FALSE(rest.contains("name") || rest.contains("preview"));
  EXPECT_EQ(session.entries[2].body.at("craft").at("turnId"), "msg_01AB");
  EXPECT_EQ(session.entries.back().body.at("customType"), "craft.auth-request");
}

TEST_F(Craft, TheRolesOfTheDocumentedPageAreReadToo) {
  put_session({R"({"id":"260304-keen-otter","createdAt":1772600000})",
               R"({"role":"user","content":"Help me"})",
               R"({"role":"assistant","content":["one",{"type":"text","text":"two"}]})",
               R"({"role":"user","content":"Help me"})"});
  read();
  EXPECT_EQ(only().said(), (Lines{"user: Help me", "assistant: one\ntwo", "user: Help me"}));
  EXPECT_EQ(format_iso(only().entries[0].time), "2026-03-04T04:53:20.000Z");
}

TEST_F(Craft, FilesComeAlongAndReferencesFollowThem) {
  const auto path = folder("260304-keen-otter");
  files_.put(path + "/attachments/5b1e_flame.png", "PNG");
  files_.put(path + "/attachments/5b1e_thumb.png", "thumb");
  files_.put(path + "/plans/speed.md", "# Plan");
  files_.put(path + "/downloads/assets/tool_ab.bin", "bin");
  files_.put(path + "/data/.sandbox-scripts/x.py", "no");
  files_.put(path + "/notes.md", "my notes");
  files_.put(path + "/tmp/resized.png", "no");
  files_.put(path + "/.pi-sessions/a.jsonl", "no");
  put_session(
      {std::string(kCraftHeader),
       R"({"id":"m1","type":"user","content":"see {{SESSION_PATH}}/data/x","attachments":[{"id":"5b1e","type":"image","name":"flame.png","mimeType":"image/png","size":3,"storedPath":"{{SESSION_PATH}}/attachments/5b1e_flame.png","thumbnailPath":"{{SESSION_PATH}}/attachments/5b1e_thumb.png","resizedBase64":"UE5H"},{"storedPath":"{{SESSION_PATH}}/../../../secret","name":"../x"},7]})",
       R"({"id":"p1","type":"plan","content":"# Plan","planPath":"/elsewhere/sessions/260304-keen-otter/plans/speed.md"})"});
  read();
  EXPECT_TRUE(intake_.problems().empty());
  const auto& session = only();
  EXPECT_EQ(session.files,
            (std::map<std::string, std::string>{{"attachments/5b1e_flame.png", "PNG"},
                                                {"attachments/5b1e_thumb.png", "thumb"},
                                                {"data/notes.md", "my notes"},
                                                {"downloads/assets_tool_ab.bin", "bin"},
                                                {"plans/speed.md", "# Plan"}}));
  const auto& user = session.entries[1].body;
  const auto& attachment = user.at("craft").at("attachments").at(0).get_object();
  EXPECT_EQ(attachment.at("storedPath"), "attachments/5b1e_flame.png");
  EXPECT_EQ(attachment.at("thumbnailPath"), "attachments/5b1e_thumb.png");
  EXPECT_FALSE(attachment.contains("resizedBase64"));
  EXPECT_EQ(user.at("message").at("content").at(1).at("data"), "UE5H");
  EXPECT_EQ(session.entries[2].body.at("craft").at("planPath"), "plans/speed.md");
  // In texts the placeholder becomes the folder the session came from.
  EXPECT_EQ(session.said()[0], fmt::format("user: see {}/data/x", folder("260304-keen-otter")));
}

TEST_F(Craft, AParentGoesBeforeItsBranch) {
  put_session(
      {R"({"id":"a-child","createdAt":1772600900000,"branchFromSessionPath":"/x/sessions/b-parent","branchFromMessageId":"m1"})",
       R"({"id":"m1","type":"user","content":"hi"})"},
      "a-child");
  put_session(
      {R"({"id":"b-parent","createdAt":1772600000000,"branchFromSessionPath":"/x/sessions/a-child"})",
       R"({"id":"m1","type":"user","content":"hi"})"},
      "b-parent");
  read(std::string(kWorkspace));
  ASSERT_EQ(intake_.sessions().size(), 2U);
  EXPECT_EQ(intake_.sessions()[0].head.id, "b-parent");
  EXPECT_EQ(intake_.sessions()[1].head.parent, "craft:b-parent@1772600000000");
  EXPECT_EQ(intake_.sessions()[0].entries[1].id, intake_.sessions()[1].entries[1].id);
}

TEST_F(Craft, StatusesAndLabelsAreDefined) {
  files_.put(
      fmt::format("{}/statuses/config.json", kWorkspace),
      R"({"version":1,"statuses":[{"id":"todo","label":"Todo","category":"open","color":"foreground/50","order":1},{"id":"shipped","label":"Shipped","category":"closed","color":{"light":"#111","dark":"#eee"},"icon":"🚢"},{"label":"no id"}]})");
  files_.put(
      fmt::format("{}/labels/config.json", kWorkspace),
      R"({"version":1,"labels":[{"id":"dev","name":"Development","children":[{"id":"bug","name":"Bug"}]},{"id":"priority","name":"Priority","valueType":"number","autoRules":[{"pattern":"P:\\d+","valueTemplate":"$1"
}]
}]
})");
  put_session({std::string(kCraftHeader)});
  read();
  ASSERT_EQ(intake_.definitions().size(), 5U);
  EXPECT_EQ(
      json::write(intake_.definitions()[1].body),
      R"({"label":"Shipped","category":"closed","icon":"🚢","color":"#111","colorDark":"#eee"})");
  EXPECT_EQ(intake_.definitions()[3].name, "bug");
  EXPECT_EQ(json::write(intake_.definitions()[3].body), R"({"parent":"dev","name":"Bug"})");
  EXPECT_EQ(json::write(intake_.definitions()[4].body),
            R"({"name":"Priority","type":"number","rules":[{"pattern":"P:\\d+","value":"$1"}]})");
  EXPECT_EQ(intake_.problems().size(), 1U);
}

TEST_F(Craft, WorkspacesElsewhereAreFoundOnce) {
  put_session({std::string(kCraftHeader)});
  files_.put("/work/repo/sessions/s2/session.jsonl", R"({"id":"s2","createdAt":1772600000000})");
  files_.put(
      "/h/.craft-agent/config.json",
      R"({"workspaces":[{"rootPath":"/work/repo/"},{"rootPath":"/h/.craft-agent/workspaces/lab"},{"rootPath":"/gone"},3]})");
  read();
  EXPECT_EQ(intake_.sessions().size(), 2U);
}

TEST_F(Craft, TornWrongAndUnknownLinesAreNamedOrKept) {
  files_.put(
      folder("s") + "/session.jsonl",
      "\xEF\xBB\xBF{\"id\":\"s\",\"createdAt\":\"yesterday\",\"name\":7,\"labels\":[1]}\r\n"
      "{\"id\":\"m1\",\"type\":\"user\",\"content\":\"one\",\"timestamp\":-1}\r\n"
      "not json\r\n\r\n"
      "3\r\n"
      "{\"id\":\"m1\",\"type\":\"user\",\"content\":\"twin\",\"timestamp\":253370764800000}\r\n"
      "{\"id\":\"m2\",\"type\":\"hologram\",\"content\":\"?\"}\r\n"
      "{\"id\":\"m3\"}\r\n"
      "{\"id\":\"m4\",\"type\":\"tool\",\"toolName\":9,\"toolInput\":\"text\",\"toolResult\":{"
      "\"a\":1}}\r\n"
      "{\"id\":\"m5\",\"type\":\"assist");
  read();
  const auto& session = only();
  EXPECT_EQ(session.said(),
            (Lines{"user: one", "user: twin", R"(call  {"input":"text"})", R"(result : {"a":1})"}));
  ASSERT_EQ(intake_.problems().size(), 4U);
  EXPECT_EQ(intake_.problems()[0].line, 3U);
  EXPECT_EQ(intake_.problems()[1].line, 5U);
  EXPECT_EQ(intake_.problems()[2].line, 8U);
  EXPECT_EQ(intake_.problems()[3].line, 10U);
  EXPECT_EQ(intake_.problems()[3].why, "the last line is cut short");
  // The times in the file are impossible, so the time the file was last changed is taken.
  EXPECT_EQ(format_iso(session.row().updated), "2026-01-02T03:04:05.000Z");
  EXPECT_EQ(json::write(session.entries[0].body.at("data")), R"({"labels":[1],"name":7})");
}

TEST_F(Craft, ALineOfOursThatLostItsIdIsKept) {
  put_session({
      std::string(kCraftHeader),
      R"({"content":"first","timestamp":1772600700000,"type":"user","reef":{"orphan":true}})",
      R"({"content":"second","timestamp":1772600701000,"type":"user","reef":{"orphan":true}})",
  });
  read();
  EXPECT_EQ(only().said(), (Lines{"user: first", "user: second"}));
}

TEST_F(Craft, ABrokenHeaderLosesOnlyItself) {
  files_.put(folder("s") + "/session.jsonl",
             "{\"id\":\"s\",\"crea\n{\"id\":\"m1\",\"type\":\"user\",\"content\":\"hi\"}\n");
  files_.put(folder("empty") + "/session.jsonl", "");
  files_.put(folder("headless") + "/session.jsonl",
             "{\"id\":\"m1\",\"type\":\"user\",\"content\":\"yo\"}\n");
  files_.put(folder("nothing") + "/plans/x.md", "");
  read();
  ASSERT_EQ(intake_.sessions().size(), 2U);
  EXPECT_EQ(intake_.sessions()[0].said(), Lines{"user: yo"});
  EXPECT_EQ(intake_.sessions()[1].said(), Lines{"user: hi"});
  EXPECT_EQ(intake_.problems().size(), 5U);
}

TEST_F(Craft, ASessionThatOnlyATemporaryFileHoldsIsRead) {
  files_.put(
      folder("s") + "/session.jsonl.tmp",
      std::string(kCraftHeader) + "\n{\"id\":\"m1\",\"type\":\"user\",\"content\":\"hi\"}\n");
  read();
  EXPECT_EQ(only().said(), Lines{"user: hi"});
}

TEST_F(Craft, TheSameIdsAtEveryImport) {
  const Lines lines = {
      std::string(kCraftHeader), R"({"id":"m1","type":"user","content":"hi"})",
      R"({"id":"t1","type":"tool","toolName":"T","toolUseId":"u","toolStatus":"executing"})"};
  put_session(lines);
  read();
  auto longer = lines;
  longer[2] =
      R"({"id":"t1","type":"tool","toolName":"T","toolUseId":"u","toolStatus":"completed","toolResult":"ok"})";
  put_session(longer);
  MemoryIntake again(files_);
  value_of(read_craft(files_, folder("260304-keen-otter"), again));
  const auto& before = only().entries;
  const auto& after = again.sessions().at(0).entries;
  ASSERT_EQ(after.size(), before.size() + 1);
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(before[i].id, after[i].id);

  MemoryIntake unchanged(files_);
  unchanged.know(again.sessions()[0].head);
  value_of(read_craft(files_, folder("260304-keen-otter") + "/session.jsonl", unchanged));
  EXPECT_TRUE(unchanged.sessions().empty());
}

TEST_F(Craft, HugeResultsAndPicturesAreReadWhole) {
  const std::string huge(5'000'000, 'r');
  put_session(
      {std::string(kCraftHeader),
       fmt::format(R"({{"id":"t","type":"tool","toolName":"T","toolUseId":"u","toolResult":"{}"}})",
                   huge)});
  read();
  EXPECT_EQ(only().said().back(), "result T: " + huge);
}

TEST_F(Craft, NothingThereIsAnError) {
  EXPECT_FALSE(read_craft(files_, "/nowhere", intake_));
  files_.put("/empty/x", "");
  EXPECT_FALSE(read_craft(files_, "/empty", intake_));
}

TEST(CraftOnDisk, LinksAndPipesAreNotFollowedOrWaitedFor) {
  PosixFiles files;
  MemoryIntake intake(files);
  const test::TempDir home;
  const auto session = home / "sessions/s";
  value_of(make_directories(files, session + "/attachments"));
  value_of(make_directories(files, home / "sessions/pipe"));
  test::write_file(home / "secret", "secret");
  test::write_file(session + "/session.jsonl", std::string(kCraftHeader) + "\n");
  test::write_file(session + "/attachments/plain.txt", "plain");
  ASSERT_EQ(::symlink((home / "secret").c_str(), (session + "/attachments/link").c_str()), 0);
  ASSERT_EQ(::symlink(home.path().c_str(), (session + "/data").c_str()), 0);
  ASSERT_EQ(::mkfifo((session + "/attachments/pipe").c_str(), 0600), 0);
  ASSERT_EQ(::mkfifo((home / "sessions/pipe/session.jsonl").c_str(), 0600), 0);
  value_of(read_craft(files, home.path(), intake));
  ASSERT_EQ(intake.sessions().size(), 1U);
  EXPECT_EQ(intake.sessions()[0].files,
            (std::map<std::string, std::string>{{"attachments/plain.txt", "plain"}}));
  EXPECT_EQ(intake.problems().size(), 4U);
}

// --- bundles ---

std::string bundle(std::string_view header, std::string_view messages, std::string_view files) {
  return fmt::format(
      R"({{ "version" : 1, "session":{{"header":{},"messages":[{}]}},"files":[{}],"branchInfo":{{"x":[1,{{}}]}} }})",
      header, messages, files);
}

class CraftBundle : public Craft {
 protected:
  void read_bundle(std::string bytes) {
    files_.put("/b.json", std::move(bytes));
    for (const std::size_t piece : {1U, 7U, 100'000U}) {
      files_.read_at_most(piece);
      MemoryIntake intake(files_);
      value_of(read_craft(files_, "/b.json", intake));
      if (piece == 1) {
        first_ = intake.sessions();
        problems_ = intake.problems();
        continue;
      }
      ASSERT_EQ(intake.sessions().size(), first_.size());
      EXPECT_EQ(intake.problems().size(), problems_.size());
      for (std::size_t i = 0; i < first_.size(); ++i)
        EXPECT_EQ(intake.sessions()[i].bytes(), first_[i].bytes());
    }
  }
  std::vector<MemoryIntake::Session> first_;
  std::vector<Problem> problems_;
};

TEST_F(CraftBundle, ABundleIsASessionWithItsFiles) {
  read_bundle(bundle(
      kCraftHeader,
      R"({"id":"m1","type":"user","content":"a \"quote\" } ] \\","attachments":[{"storedPath":"/their/home/sessions/260304-keen-otter/attachments/a.txt"}]}, {"id":"m2","type":"assistant","content":"ok"})",
      fmt::format(
          R"({{"relativePath":"attachments/a.txt","contentBase64":"{}","size":5}},{{"relativePath":"notes.md","contentBase64":"","size":0}})",
          to_base64("hello"))));
  EXPECT_TRUE(problems_.empty());
  ASSERT_EQ(first_.size(), 1U);
  EXPECT_EQ(first_[0].said(), (Lines{R"(user: a "quote" } ] \)", "assistant: ok"}));
  EXPECT_EQ(first_[0].files.at("attachments/a.txt"), "hello");
  EXPECT_EQ(first_[0].entries[1].body.at("craft").at("attachments").at(0).at("storedPath"),
            "attachments/a.txt");
  EXPECT_EQ(first_[0].head.origin, "craft:260304-keen-otter@1772600000000");
}

TEST_F(CraftBundle, AFileThatIsNoBundleIsNamedAndNotImported) {
  for (
      const std::string& bytes :
      {std::string("[]"), std::string("{}"), std::string(""), std::string("nonsense"),
       std::string(
           R"({"version":2,"session":{"header":{"id":"x","createdAt":1},"messages":[]},"files":[]})"),
       std::string(
           R"({"version":1,"session":{"header":{"createdAt":1},"messages":[]},"files":[]})"),
       std::string(
           R"({"version":1,"session":{"header":{"id":"x","createdAt":"1"},"messages":[]},"files":[]})"),
       std::string(
           R"({"version":1,"session":{"header":{"id":"x","createdAt":1},"messages":{}},"files":[]})"),
       std::string(R"({"version":1,"session":{"header":{"id":"x","createdAt":1},"messages":[]}})"),
       std::string(
           R"({"version":"1","session":{"header":{"id":"x","createdAt":1},"messages":[]},"files":[]})")}) {
    read_bundle(bytes);
    EXPECT_TRUE(first_.empty()) << bytes;
    EXPECT_FALSE(problems_.empty()) << bytes;
  }
}

TEST_F(CraftBundle, BadFilesAreLeftOutByName) {
  read_bundle(bundle(
      kCraftHeader, R"({"id":"m1","type":"user","content":"hi"},17)",
      R"({"relativePath":"../evil","contentBase64":"","size":0},{"relativePath":"/etc/x","contentBase64":"","size":0},{"relativePath":"attachments//x","contentBase64":"","size":0},{"relativePath":"attachments\\x","contentBase64":"","size":0},{"relativePath":"attachments/long","contentBase64":"aGVsbG8=","size":4},{"relativePath":"attachments/bad","contentBase64":"*","size":1},{"relativePath":"tool-metadata.json","contentBase64":"","size":0},{"relativePath":"attachments/good","contentBase64":"aGVsbG8=","size":5},"x")"));
  ASSERT_EQ(first_.size(), 1U);
  EXPECT_EQ(first_[0].said(), Lines{"user: hi"});
  EXPECT_EQ(first_[0].files, (std::map<std::string, std::string>{{"attachments/good", "hello"}}));
  EXPECT_EQ(problems_.size(), 8U);
}

TEST_F(CraftBundle, ABundleThatIsCutShortKeepsTheRest) {
  const auto whole = bundle(kCraftHeader, R"({"id":"m1","type":"user","content":"hi"})",
                            R"({"relativePath":"data/x","contentBase64":"aGVsbG8=","size":5})");
  read_bundle(whole.substr(0, whole.find("branchInfo")));
  ASSERT_EQ(first_.size(), 1U);
  EXPECT_EQ(first_[0].said(), Lines{"user: hi"});
  EXPECT_EQ(first_[0].files.size(), 1U);
  EXPECT_EQ(problems_.size(), 1U);
}

TEST_F(CraftBundle, FilesMayStandBeforeTheSession) {
  read_bundle(fmt::format(
      R"({{"files":[{{"size":5,"relativePath":"data/x","contentBase64":"aGVsbG8="}}],"session":{{"messages":[{{"id":"m1","type":"user","content":"hi"}}],"header":{}}},"version":1}})",
      kCraftHeader));
  ASSERT_EQ(first_.size(), 1U);
  EXPECT_EQ(first_[0].said(), Lines{"user: hi"});
  EXPECT_EQ(first_[0].files.size(), 1U);
}

}  // namespace
}  // namespace reef::exchange
