// A session written in a foreign format and read again comes back unchanged, for every format that
// holds conversations. A new format needs one line in kFormats.
#include <cstdlib>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "exchange/clawdbot/clawdbot.h"
#include "exchange/crabtalk/crabtalk.h"
#include "exchange/craft/craft.h"
#include "exchange/feed.h"
#include "exchange/pi/pi.h"
#include "exchange/sources.h"
#include "store/mem/mem_documents.h"
#include "support/exchange.h"
#include "support/memory_files.h"
#include "support/random_transcript.h"
#include "support/run.h"

namespace reef::exchange {
namespace {

using test::MemoryFiles;
using test::MemoryIntake;
using test::MemoryOutlet;
using test::value_of;

struct Foreign {
  std::string_view name;
  std::unique_ptr<Writer> (*writer)(Outlet&);
  Status (*read)(Files&, const std::string&, Intake&);
  bool one_by_one;  // each file is a source of its own; else the folder is one
};

constexpr Foreign kFormats[] = {
    {"crabtalk", &crabtalk_writer, &read_crabtalk, false},
    {"craft", &craft_writer, &read_craft, false},
    {"craft_bundle", &craft_bundle_writer, &read_craft, true},
};

constexpr int kSessions = 1000;
constexpr int kPerExport = 10;

std::uint64_t first_seed() {
  const char* given = std::getenv("REEF_SEED");
  return given ? std::strtoull(given, nullptr, 10) : 1;
}

struct Native {
  explicit Native(std::string text, int number)
      : bytes(std::move(text)),
        transcript(session::read_transcript(bytes)),
        row(session::make_row(*session::SessionId::parse(fmt::format("s.{}", number)), bytes)) {}

  std::string bytes;
  session::Transcript transcript;
  session::Row row;
};

// The part of an entry that must come back: all but its parent and the fields that have their
// default value.
json::object essence(const session::Entry& entry) {
  auto body = entry.body;
  body.erase("parentId");
  auto* message = body.if_contains("message");
  if (entry.type != "message" || !message || !message->is_object()) return body;
  auto& object = message->get_object();
  const auto role = json::find_string(object, "role").value_or("");
  const bool spoken =
      role == "user" || role == "assistant" || role == "toolResult" || role == "system";
  if (!spoken) return body;
  if (object.contains("content") && object.at("content").is_string()) {
    const auto text = object.at("content").get_string();
    json::array blocks;
    if (!text.empty()) blocks.push_back(json::object{{"type", "text"}, {"text", text}});
    object["content"] = std::move(blocks);
  }
  if (!object.contains("timestamp")) object["timestamp"] = entry.time.time_since_epoch().count();
  return body;
}

class RoundTrip : public testing::TestWithParam<Foreign> {
 protected:
  // Writes all sessions and reads them back.
  std::vector<MemoryIntake::Session> there_and_back(const std::vector<Native>& sessions,
                                                    std::vector<Exported::File> files = {}) {
    MemoryOutlet outlet;
    const auto writer = GetParam().writer(outlet);
    for (const auto& native : sessions)
      value_of(writer->add(Exported{native.row, native.transcript, files}));
    value_of(writer->finish());
    MemoryFiles disk;
    for (const auto& [path, bytes] : outlet.files()) disk.put("/out/" + path, bytes);
    MemoryIntake intake(disk);
    if (GetParam().one_by_one) {
      for (const auto& [path, bytes] : outlet.files())
        value_of(GetParam().read(disk, "/out/" + path, intake));
    } else {
      value_of(GetParam().read(disk, "/out", intake));
    }
    for (const auto& problem : intake.problems())
      ADD_FAILURE() << problem.path << ":" << problem.line << ": " << problem.why;
    return intake.sessions();
  }

  static void expect_same(const Native& native, const MemoryIntake::Session& back) {
    std::vector<const session::Entry*> sent;
    for (const auto* entry : native.transcript.branch())
      if (!is_meta(*entry)) sent.push_back(entry);
    ASSERT_EQ(back.entries.size(), sent.size());
    for (std::size_t i = 0; i < sent.size(); ++i) {
      EXPECT_EQ(back.entries[i].id, sent[i]->id);
      EXPECT_EQ(back.entries[i].time, sent[i]->time);
      const auto before = essence(*sent[i]);
      const auto after = essence(back.entries[i]);
      if (before != after)
        ADD_FAILURE() << "entry " << i << "\n" << json::write(before) << "\n" << json::write(after);
    }
    EXPECT_EQ(json::value(back.meta), json::value(portable_meta(native.row)))
        << json::write(back.meta) << "\n"
        << json::write(native.row.meta);
    EXPECT_EQ(back.head.created, native.row.created);
    EXPECT_EQ(back.head.cwd, native.row.cwd);
    EXPECT_EQ(back.row().name(), native.row.name());
  }
};

TEST_P(RoundTrip, AThousandSessionsComeBackAsTheyWere) {
  const auto seed = first_seed();
  for (int from = 0; from < kSessions; from += kPerExport) {
    SCOPED_TRACE(fmt::format("REEF_SEED={}", seed + static_cast<std::uint64_t>(from)));
    std::vector<Native> sessions;
    for (int i = 0; i < kPerExport; ++i)
      sessions.emplace_back(test::random_transcript(seed + static_cast<std::uint64_t>(from + i)),
                            i);
    const auto back = there_and_back(sessions);
    ASSERT_EQ(back.size(), sessions.size());
    for (const auto& native : sessions) {
      const auto found = std::find_if(back.begin(), back.end(), [&](const auto& session) {
        return session.head.id == native.row.id.text();
      });
      ASSERT_NE(found, back.end()) << native.row.id.text();
      expect_same(native, *found);
    }
    if (HasFailure()) break;
  }
}

// pi's format is ours, so every entry of every branch comes back, not the current branch alone.
TEST(PiExport, EveryEntryOfEveryBranchComesBack) {
  const auto seed = first_seed();
  for (int i = 0; i < kSessions && !testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE(fmt::format("REEF_SEED={}", seed + static_cast<std::uint64_t>(i)));
    const Native native(test::random_transcript(seed + static_cast<std::uint64_t>(i)), i);
    MemoryOutlet outlet;
    value_of(pi_writer(outlet)->add(Exported{native.row, native.transcript, {}, native.bytes}));
    MemoryFiles disk;
    for (const auto& [path, bytes] : outlet.files()) disk.put("/out/" + path, bytes);
    MemoryIntake intake(disk);
    value_of(read_pi(disk, "/out", intake));
    ASSERT_EQ(intake.sessions().size(), 1U);
    const auto& back = intake.sessions()[0];
    EXPECT_EQ(back.head.created, native.row.created);
    EXPECT_EQ(back.head.cwd, native.row.cwd);
    const auto& sent = native.transcript.entries();
    ASSERT_EQ(back.entries.size(), sent.size());
    for (std::size_t at = 0; at < sent.size(); ++at) {
      EXPECT_EQ(back.entries[at].parent, sent[at].parent);
      EXPECT_EQ(json::value(back.entries[at].body), json::value(sent[at].body)) << at;
    }
  }
}

// Clawdbot's transcripts are pi's; the keys and the titles are in the store beside them.
TEST(ClawdbotExport, EveryEntryComesBackUnderItsKey) {
  const auto seed = first_seed();
  for (int from = 0; from < kSessions && !testing::Test::HasFailure(); from += kPerExport) {
    SCOPED_TRACE(fmt::format("REEF_SEED={}", seed + static_cast<std::uint64_t>(from)));
    std::vector<Native> sessions;
    for (int i = 0; i < kPerExport; ++i) {
      sessions.emplace_back(test::random_transcript(seed + static_cast<std::uint64_t>(from + i)),
                            i);
      sessions.back().row.meta["key"] = fmt::format("agent:main:tg:group:{}", i);
    }
    MemoryOutlet outlet;
    const auto writer = clawdbot_writer(outlet);
    for (const auto& native : sessions)
      value_of(writer->add(Exported{native.row, native.transcript, {}, native.bytes}));
    value_of(writer->finish());
    MemoryFiles disk;
    for (const auto& [path, bytes] : outlet.files()) disk.put("/out/" + path, bytes);
    MemoryIntake intake(disk);
    value_of(read_clawdbot(disk, "/out", intake));
    ASSERT_EQ(intake.sessions().size(), sessions.size());
    for (const auto& native : sessions) {
      const auto key = json::find_string(native.row.meta, "key");
      const auto back = std::find_if(
          intake.sessions().begin(), intake.sessions().end(),
          [&](const auto& one) { return json::find_string(one.head.meta, "key") == key; });
      ASSERT_NE(back, intake.sessions().end()) << *key;
      const auto& sent = native.transcript.entries();
      ASSERT_EQ(back->entries.size(), sent.size());
      for (std::size_t at = 0; at < sent.size(); ++at) {
        EXPECT_EQ(back->entries[at].parent, sent[at].parent);
        EXPECT_EQ(json::value(back->entries[at].body), json::value(sent[at].body)) << at;
      }
    }
  }
}

class CraftExport : public testing::Test {
 protected:
  static std::string line(std::string_view type, std::string_view id, std::string_view fields) {
    return fmt::format(R"({{"type":"{}","id":"{}","timestamp":"2026-03-04T05:00:00.000Z",{}}})"
                       "\n",
                       type, id, fields);
  }
  std::vector<json::object> lines_of(const std::string& bytes) {
    std::vector<json::object> out;
    for (std::size_t at = 0; at < bytes.size();) {
      const auto end = bytes.find('\n', at);
      out.push_back(
          value_of(json::parse(std::string_view(bytes).substr(at, end - at))).get_object());
      at = end + 1;
    }
    return out;
  }
};

constexpr std::string_view kNativeHeader =
    R"({"type":"session","version":3,"id":"x","timestamp":"2026-03-04T04:53:20.000Z","cwd":"/code"})"
    "\n";

TEST_F(CraftExport, CallAndResultShareALineAndFilesKeepTheirReferences) {
  store::MemDocuments documents;
  value_of(documents.replace("sessions/x/data/flame.png", "PNG", session::Nothing{}));
  const Native native(
      std::string(kNativeHeader) +
          line(
              "message", "u",
              R"("message":{"role":"user","content":"see {{SESSION_PATH}}"},"craft":{"id":"msg-1-abc","attachments":[{"name":"flame.png","storedPath":"attachments/flame.png"}]})") +
          line(
              "message", "a",
              R"("message":{"role":"assistant","content":[{"type":"text","text":"Look."},{"type":"toolCall","id":"c1","name":"bash","arguments":{"x":1}}]})") +
          line(
              "message", "r",
              R"("message":{"role":"toolResult","toolCallId":"c1","toolName":"bash","content":[{"type":"text","text":"bad"}],"isError":true})"),
      1);
  const std::vector<Exported::File> files = {
      {"attachments/flame.png", "sessions/x/data/flame.png", 3},
      {"data/notes.md", "sessions/x/data/flame.png", 3}};
  MemoryOutlet outlet;
  const auto writer = craft_writer(outlet);
  value_of(writer->add(Exported{native.row, native.transcript, files, {}, &documents}));
  value_of(writer->finish());
  EXPECT_EQ(outlet.files().at("sessions/s-1/attachments/flame.png"), "PNG");
  EXPECT_EQ(outlet.files().at("sessions/s-1/notes.md"), "PNG");
  const auto& bytes = outlet.files().at("sessions/s-1/session.jsonl");
  const auto lines = lines_of(bytes);
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[0].at("id"), "s-1");
  EXPECT_EQ(lines[1].at("id"), "msg-1-abc");
  EXPECT_EQ(lines[1].at("attachments").at(0).at("storedPath"),
            "{{SESSION_PATH}}/attachments/flame.png");
  EXPECT_EQ(lines[2].at("isIntermediate"), true);
  EXPECT_EQ(lines[3].at("type"), "tool");
  EXPECT_EQ(lines[3].at("toolResult"), "bad");
  EXPECT_EQ(lines[3].at("toolStatus"), "error");
  EXPECT_EQ(lines[3].at("turnId"), lines[2].at("turnId"));
  // Only the reference to the file becomes a placeholder; the same path in a message's text stays.
  EXPECT_EQ(bytes.find("{{SESSION_PATH}}"), bytes.rfind("{{SESSION_PATH}}"));

  for (const bool bundled : {false, true}) {
    MemoryFiles disk;
    MemoryOutlet bundle;
    value_of(craft_bundle_writer(bundle)->add(
        Exported{native.row, native.transcript, files, {}, &documents}));
    for (const auto& [path, content] : bundled ? bundle.files() : outlet.files())
      disk.put("/out/" + path, content);
    MemoryIntake intake(disk);
    value_of(read_craft(disk, bundled ? "/out/s-1.json" : "/out", intake));
    ASSERT_EQ(intake.sessions().size(), 1U);
    const auto& back = intake.sessions()[0];
    EXPECT_EQ(back.files, (std::map<std::string, std::string>{{"attachments/flame.png", "PNG"},
                                                              {"data/notes.md", "PNG"}}));
    EXPECT_EQ(back.said()[0], "user: see {{SESSION_PATH}}");
    EXPECT_EQ(back.entries[0].body.at("craft").at("attachments").at(0).at("storedPath"),
              "attachments/flame.png");
  }
}

TEST_F(CraftExport, AHeaderIsNeverTooLongToBeListed) {
  json::array labels;
  for (int i = 0; i < 100; ++i)
    labels.push_back(json::value(fmt::format("label-{}{}", i, std::string(500, 'l'))));
  const Native native(
      std::string(kNativeHeader) +
          line("custom", "m",
               R"("customType":"reef.meta","data":)" +
                   json::write(json::object{{"labels", labels}, {"name", "A title"}})) +
          line("message", "u", R"("message":{"role":"user","content":"hi"})"),
      1);
  MemoryOutlet outlet;
  value_of(craft_writer(outlet)->add(Exported{native.row, native.transcript, {}}));
  const auto& bytes = outlet.files().at("sessions/s-1/session.jsonl");
  EXPECT_LT(bytes.find('\n'), 8192U);
  MemoryFiles disk;
  disk.put("/out/sessions/s-1/session.jsonl", bytes);
  MemoryIntake intake(disk);
  value_of(read_craft(disk, "/out", intake));
  EXPECT_EQ(json::value(intake.sessions().at(0).meta.at("labels")), json::value(labels));
}

TEST_F(CraftExport, AdditionsAndRenamesInCraftComeBackToo) {
  const Native native(std::string(kNativeHeader) +
                          line("message", "u", R"("message":{"role":"user","content":"hi"})") +
                          line("session_info", "n", R"("name":"Old name")"),
                      1);
  MemoryOutlet outlet;
  value_of(craft_writer(outlet)->add(Exported{native.row, native.transcript, {}}));
  auto bytes = outlet.files().at("sessions/s-1/session.jsonl");
  bytes.replace(bytes.find("Old name"), 8, "New name");
  bytes += R"({"id":"msg-9","type":"assistant","content":"hello","timestamp":1772601000000})"
           "\n";
  MemoryFiles disk;
  disk.put("/out/sessions/s-1/session.jsonl", bytes);
  MemoryIntake intake(disk);
  value_of(read_craft(disk, "/out", intake));
  const auto& back = intake.sessions().at(0);
  EXPECT_EQ(back.said(), (std::vector<std::string>{"user: hi", "assistant: hello"}));
  EXPECT_EQ(back.row().name(), "New name");
}

TEST(CrabtalkExport, LinesAreTheSeedTexts) {
  const Native native(
      std::string(kNativeHeader) +
          R"({"type":"custom","id":"m","parentId":null,"timestamp":"2026-03-04T05:00:00.000Z","customType":"reef.meta","data":{"agent":"Crab","sender":"tg:12"}})"
          "\n"
          R"({"type":"message","id":"a","parentId":"m","timestamp":"2026-03-04T05:00:00.000Z","agent":"reviewer","message":{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"toolCall","id":"c1","name":"bash","arguments":{"x":1}}]}})"
          "\n"
          R"({"type":"compaction","id":"c","parentId":"a","timestamp":"2026-03-04T05:00:00.000Z","summary":"They met. Then more.","firstKeptEntryId":"c"})"
          "\n",
      1);
  MemoryOutlet outlet;
  value_of(crabtalk_writer(outlet)->add(Exported{native.row, native.transcript, {}}));
  const auto& bytes = outlet.files().at("sessions/crab_tg-12_1.jsonl");
  EXPECT_NE(
      bytes.find(
          R"({"agent":"Crab","created_by":"tg:12","created_at":"2026-03-04T04:53:20.000Z","title":"","uptime_secs":0,"updated_at":"2026-03-04T05:00:00.000Z","message_count":1,"summary":"They met. Then more.",)"),
      std::string::npos)
      << bytes;
  EXPECT_NE(
      bytes.find(
          R"({"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"bash","arguments":"{\"x\":1}"}}],"reasoning_content":"hm","agent":"reviewer","reef":)"),
      std::string::npos)
      << bytes;
  EXPECT_NE(
      bytes.find(
          R"({"compact":"They met. Then more.","title":"They met.","archived_at":"2026-03-04T05:00:00.000Z","reef":)"),
      std::string::npos)
      << bytes;
}

INSTANTIATE_TEST_SUITE_P(Formats, RoundTrip, testing::ValuesIn(kFormats),
                         [](const auto& format) { return std::string(format.param.name); });

}  // namespace
}  // namespace reef::exchange
