// CrabTalk 0.0.24's store in one file, as its daemon writes it: records, checkpoints, a torn end.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "exchange/crabtalk/blocks.h"
#include "exchange/crabtalk/crab_file.h"
#include "exchange/crabtalk/crabtalk.h"
#include "support/exchange.h"
#include "support/memory_files.h"
#include "support/run.h"

namespace reef::exchange {
namespace {

using test::MemoryFiles;
using test::MemoryIntake;
using test::value_of;

using Lines = std::vector<std::string>;

std::string little(std::uint64_t value, int size) {
  std::string out;
  for (int i = 0; i < size; ++i, value >>= 8) out.push_back(static_cast<char>(value & 0xffU));
  return out;
}

class Store {
 public:
  void put(int column, const std::string& key, const std::string& value) {
    index_[{column, key}] = bytes_.size();
    record(0, column, key, value);
  }
  void remove(int column, const std::string& key) {
    index_.erase({column, key});
    record(1, column, key, "");
  }
  void checkpoint() {
    const auto at = bytes_.size();
    bytes_ += little(index_.size(), 4);
    for (const auto& [key, offset] : index_)
      bytes_ += little(static_cast<std::uint64_t>(key.first), 1) + little(key.second.size(), 4) +
                key.second + little(offset, 8);
    bytes_.replace(16, 16, little(at, 8) + little(bytes_.size() - at, 8));
  }
  std::string bytes_ = std::string("CRMEM\0", 6) + little(1, 4) + little(0, 6) + little(0, 16);

 private:
  void record(int op, int column, const std::string& key, const std::string& value) {
    bytes_ += little(static_cast<std::uint64_t>(op), 1) +
              little(static_cast<std::uint64_t>(column), 1) + little(key.size(), 4) + key +
              little(value.size(), 4) + value;
  }
  std::map<std::pair<int, std::string>, std::uint64_t> index_;
};

constexpr const char* kStoreAgent = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
constexpr const char* kStoreMeta =
    R"({"agent":"01ARZ3NDEKTSV4RRFFQ69G5FAV","created_by":"alice","created_at":"2026-08-20T10:00:00.5+00:00","title":"Tea","updated_at":"2026-08-20T10:05:00+00:00","message_count":4,"root":"/code"})";

Store sample() {
  Store store;
  store.put(
      0, std::string("local/agent/") + kStoreAgent,
      R"({"id":"x","name":"scout","description":"You look ahead.","model":"m","skills":["brief"]})");
  store.put(0, "local/idx/agent/scout", kStoreAgent);
  store.put(2, "local/memory/tea",
            R"({"name":"tea","kind":"note","content":"green","aliases":["drink"]})");
  store.put(
      2, "local/memory/arc",
      R"({"name":"arc","kind":"archive","content":"They met.","created_at":"2026-08-20T10:01:00Z"})");
  store.put(3, "local/skill/body/brief", "---\nname: brief\n---\nBe brief.");
  store.put(6, "local/text/whatever", "\x01\x02");
  store.put(1, "local/session/H1/meta", kStoreMeta);
  store.put(1, "local/session/H1/archive", R"("arc")");
  store.put(1, "local/session/H1/msg/000000000000",
            R"({"message":{"role":"user","content":"old words"}})");
  store.put(1, "local/session/H1/msg/000000000000",
            R"({"message":{"role":"user","content":[{"type":"text","text":"look"}]}})");
  store.put(
      1, "local/session/H1/msg/000000000001",
      R"({"message":{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"Sure."},{"type":"tool_use","id":"c1","name":"ls","input":{"path":"/"}}]}})");
  store.put(
      1, "local/session/H1/msg/000000000002",
      R"({"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"gone","is_error":true}]}})");
  store.put(1, "local/session/H1/msg/000000000010",
            R"({"message":{"role":"assistant","content":[{"type":"text","text":"Nothing."}]}})");
  store.put(1, "local/session/H1/msg/000000000011", R"({"message":{"role":"user","content":"x"}})");
  store.remove(1, "local/session/H1/msg/000000000011");
  store.put(
      1, "local/session/H1/evt/000000000000",
      R"({"event":"done","model":"claude","iterations":1,"stop_reason":"text_response","usage":{"prompt_tokens":10,"completion_tokens":5},"ts":"2026-08-20T10:04:00Z"})");
  return store;
}

MemoryIntake& read(MemoryFiles& files, MemoryIntake& intake, const std::string& bytes) {
  files.put("/h/.crabtalk/store.crmem", bytes);
  EXPECT_TRUE(read_crabtalk(files, "/h/.crabtalk", intake).ok());
  return intake;
}

TEST(CrabStore, ConversationsAgentsNotesAndSkillsAreRead) {
  MemoryFiles files;
  MemoryIntake intake(files);
  read(files, intake, sample().bytes_);
  for (const auto& problem : intake.problems()) ADD_FAILURE() << problem.why;
  ASSERT_EQ(intake.sessions().size(), 1U);
  const auto& session = intake.sessions()[0];
  std::string all;
  for (const auto& line : session.said()) all += line + "\n";
  for (const auto* word :
       {"They met.", "user: look", "Sure.", R"({"path":"/"})", "gone", "Nothing."})
    EXPECT_NE(all.find(word), std::string::npos) << word << " in\n" << all;
  EXPECT_EQ(all.find("old words"), std::string::npos);
  EXPECT_LT(all.find("Sure."), all.find("gone"));
  EXPECT_EQ(session.head.id, "H1");
  EXPECT_EQ(session.head.cwd, "/code");
  EXPECT_TRUE(session.head.of_store);
  EXPECT_EQ(json::find_string(session.meta, "key"), "agent:scout:alice");
  EXPECT_EQ(session.row().name(), "Tea");
  EXPECT_EQ(session.row().usage.output, 5);
  std::map<Definition::Kind, const Definition*> found;
  for (const auto& one : intake.definitions()) found[one.kind] = &one;
  EXPECT_EQ(found.at(Definition::Kind::agent)->text, "You look ahead.");
  EXPECT_TRUE(found.at(Definition::Kind::agent)->body.contains("tools")) << "it stays scoped";
  EXPECT_EQ(found.at(Definition::Kind::note)->body.at("agent"), "scout");
  EXPECT_EQ(found.at(Definition::Kind::note)->text, "green");
  EXPECT_EQ(found.at(Definition::Kind::skill)->name, "brief");
  bool failed = false;
  for (const auto& entry : session.entries)
    if (const auto* message = json::find_object(entry.body, "message"))
      failed = failed || json::find_bool(*message, "isError").value_or(false);
  EXPECT_TRUE(failed);
}

TEST(CrabStore, CheckpointsAndTornEndsChangeNothing) {
  MemoryFiles plain_files;
  MemoryIntake plain(plain_files);
  const auto expected = read(plain_files, plain, sample().bytes_).sessions().at(0).said();

  auto store = sample();
  store.checkpoint();
  store.put(2, "local/memory/late", R"({"name":"late","kind":"note","content":"x"})");
  store.checkpoint();
  store.put(2, "local/memory/later", R"({"name":"later","kind":"note","content":"x"})");
  MemoryFiles files;
  MemoryIntake intake(files);
  EXPECT_EQ(read(files, intake, store.bytes_).sessions().at(0).said(), expected);
  std::size_t notes = 0;
  for (const auto& one : intake.definitions()) notes += one.kind == Definition::Kind::note;
  EXPECT_EQ(notes, 3U);
  EXPECT_TRUE(intake.problems().empty());

  // A crash while the last record was written.
  MemoryFiles torn_files;
  MemoryIntake torn(torn_files);
  const auto cut = store.bytes_.substr(0, store.bytes_.size() - 5);
  EXPECT_EQ(read(torn_files, torn, cut).sessions().at(0).said(), expected);
  ASSERT_EQ(torn.problems().size(), 1U);
}

TEST(CrabStore, AFileThatIsNoStoreIsAProblemAndLyingIndexesAreNotBelieved) {
  for (const std::string& bytes : {std::string(), std::string("CRMEM"), std::string(64, 'x'),
                                   std::string("CRMEM\0", 6) + std::string(64, '\xff')}) {
    MemoryFiles files;
    MemoryIntake intake(files);
    read(files, intake, bytes);
    EXPECT_EQ(intake.problems().size(), 1U);
    EXPECT_TRUE(intake.sessions().empty());
  }
  // Every offset points back to the first record.
  auto store = sample();
  const auto at = store.bytes_.size();
  store.bytes_ +=
      little(1, 4) + little(1, 1) + little(21, 4) + "local/session/H1/meta" + little(32, 8);
  store.bytes_.replace(16, 16, little(at, 8) + little(store.bytes_.size() - at, 8));
  MemoryFiles files;
  MemoryIntake intake(files);
  read(files, intake, store.bytes_);
  EXPECT_TRUE(intake.sessions().empty());
  ASSERT_FALSE(intake.problems().empty());
  EXPECT_NE(intake.problems()[0].why.find("another record"), std::string::npos);
}

TEST(CrabStore, ItIsReadAgainOnlyWhenASessionChanged) {
  MemoryFiles files;
  MemoryIntake first(files);
  const auto head = read(files, first, sample().bytes_).sessions().at(0).head;
  MemoryIntake again(files);
  again.know(head);
  read(files, again, sample().bytes_);
  EXPECT_TRUE(again.sessions().empty());
}

TEST(CrabStore, BlocksOfStepFilesAreReadTheSameWay) {
  const auto lines = flat_lines(
      json::parse(
          R"({"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"1"},{"type":"tool_result","tool_use_id":"b","content":"2"},{"type":"text","text":"and"}]}})")
          ->get_object());
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(json::write(lines[1]),
            R"({"message":{"role":"tool","tool_call_id":"b","content":"2"}})");
  EXPECT_EQ(json::write(lines[2]),
            R"({"message":{"role":"user","content":[{"type":"text","text":"and"}]}})");
}

}  // namespace
}  // namespace reef::exchange
