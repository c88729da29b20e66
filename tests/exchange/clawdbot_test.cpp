#include "exchange/clawdbot/clawdbot.h"

#include <gtest/gtest.h>

#include "support/exchange.h"
#include "support/memory_files.h"

namespace reef::exchange {
namespace {

using test::MemoryFiles;
using test::MemoryIntake;

constexpr std::string_view kTranscript =
    R"({"type":"session","version":3,"id":"s1","timestamp":"2026-01-02T03:04:05.678Z","cwd":"/x"})"
    "\n"
    R"({"type":"message","id":"a","parentId":null,"timestamp":"2026-01-02T03:04:06.000Z","message":{"role":"user","content":"hi"}})"
    "\n";

TEST(Json5, BecomesJson) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"{a: 1, 'b': \"c\", // x\n d: [1, 2,], /* y */ }", R"({"a":1,"b":"c","d":[1,2]})"},
      {"{\"a\": .5, b: +1, c: NaN, d: -2e3}", R"({"a":0.5,"b":1,"c":null,"d":-2e3})"},
      {"'it\\'s \"so\"\\x41\\\nend'", R"("it's \"so\"\u0041end")"},
      {R"({"a":"\u00e4\\"})", R"({"a":"\u00e4\\"})"},
      {"{", "{"},
      {"[1,,2]", "[1,,2]"},
      {"", ""},
  };
  for (const auto& [in, out] : cases) EXPECT_EQ(json_from_json5(in), out);
}

TEST(Clawdbot, MapsTheFieldsOfAStore) {
  MemoryFiles files;
  MemoryIntake intake(files);
  files.put(
      "/c/agents/main/sessions/sessions.json",
      R"({"agent:main:main":{"sessionId":"s1","updatedAt":1,"chatType":"room","provider":"slack",
                "room":"#ops","sessionFile":"/other/machine/s1.jsonl","queueMode":"collect",
                "thinkingLevel":"nonsense"}})");
  files.put("/c/agents/main/sessions/s1.jsonl", std::string(kTranscript));
  ASSERT_TRUE(read_clawdbot(files, "/c", intake));
  ASSERT_EQ(intake.sessions().size(), 1U);
  const auto& [head, entries, meta, copies, ended] = intake.sessions()[0];
  EXPECT_EQ(head.origin, "clawdbot:main:s1");
  EXPECT_EQ(json::find_string(meta, "key"), "agent:main:main");
  EXPECT_EQ(json::find_string(meta, "chatType"), "room");
  EXPECT_EQ(json::find_string(meta, "channel"), "slack");
  EXPECT_EQ(json::find_string(meta, "groupChannel"), "#ops");
  EXPECT_EQ(json::find_string(meta, "queueMode"), "collect");
  EXPECT_EQ(entries.size(), 1U);
  EXPECT_TRUE(intake.problems().empty());
}

TEST(Clawdbot, ALargeStoreIsReadAMemberAtATime) {
  MemoryFiles files;
  MemoryIntake intake(files);
  std::string store = "{\n";
  const std::string prompt(100'000, 'p');
  for (int i = 0; i < 100; ++i)
    store += std::string(i == 0 ? "" : ",\n") + "  \"agent:main:k" + std::to_string(i) +
             "\": {\n    \"sessionId\": \"" + (i == 42 ? "s1" : "none") +
             "\",\n    \"label\": \"L" + std::to_string(i) +
             "\",\n    \"skillsSnapshot\": {\n      \"prompt\": \"" + prompt + "\"\n    }\n  }";
  files.put("/c/agents/main/sessions/sessions.json", store + "\n}\n");
  files.put("/c/agents/main/sessions/s1.jsonl", std::string(kTranscript));
  ASSERT_TRUE(read_clawdbot(files, "/c", intake));
  ASSERT_EQ(intake.sessions().size(), 1U);
  EXPECT_EQ(json::find_string(intake.sessions()[0].meta, "key"), "agent:main:k42");
  EXPECT_EQ(json::find_string(intake.sessions()[0].meta, "name"), "L42");
}

TEST(Clawdbot, IsReadFromAnyOfItsFolders) {
  for (const std::string path :
       {"/c", "/c/agents/main", "/c/agents/main/sessions", "/c/agents/main/sessions/s1.jsonl",
        "/c/agents/main/sessions/sessions.json"}) {
    MemoryFiles files;
    MemoryIntake intake(files);
    files.put("/c/agents/main/sessions/sessions.json", R"({"k":{"sessionId":"s1"}})");
    files.put("/c/agents/main/sessions/s1.jsonl", std::string(kTranscript));
    ASSERT_TRUE(read_clawdbot(files, path, intake));
    ASSERT_EQ(intake.sessions().size(), 1U) << path;
    EXPECT_EQ(intake.sessions()[0].head.origin, "clawdbot:main:s1");
    EXPECT_EQ(json::find_string(intake.sessions()[0].meta, "key"), "k");
  }
}

}  // namespace
}  // namespace reef::exchange
