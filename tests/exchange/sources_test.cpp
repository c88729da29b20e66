// The table of sources, row by row: what one writes it reads and recognises, and nobody else does.
#include "exchange/sources.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "exchange/places.h"
#include "support/exchange.h"
#include "support/memory_files.h"
#include "support/run.h"

namespace reef::exchange {
namespace {

using test::MemoryFiles;
using test::MemoryIntake;
using test::MemoryOutlet;
using test::value_of;

constexpr std::string_view kTalk =
    R"({"type":"session","version":3,"id":"talk","timestamp":"2026-01-02T03:04:05.678Z","cwd":"/srv/app"}
{"type":"custom","id":"m","parentId":null,"timestamp":"2026-01-02T03:04:05.700Z","customType":"reef.meta","data":{"key":"agent:crab:alice","agent":"crab","sender":"alice","boundAt":1}}
{"type":"message","id":"1","parentId":"m","timestamp":"2026-01-02T03:04:06.000Z","message":{"role":"user","content":[{"type":"text","text":"Hi"}],"timestamp":1767323046000}}
{"type":"message","id":"2","parentId":"1","timestamp":"2026-01-02T03:04:07.000Z","message":{"role":"assistant","content":[{"type":"text","text":"Ho"}],"timestamp":1767323047000}}
)";

// One conversation in a format, as its writer leaves it below `folder`. Returns the files.
std::vector<std::string> put_talk(MemoryFiles& disk, const Format& format,
                                  const std::string& folder) {
  const session::Transcript transcript(session::read_transcript(kTalk));
  const auto row = session::make_row(*session::SessionId::parse("talk"), kTalk);
  MemoryOutlet outlet;
  const auto writer = format.make(outlet);
  value_of(writer->add(Exported{row, transcript, {}, kTalk}));
  value_of(writer->finish());
  std::vector<std::string> out;
  for (const auto& [path, bytes] : outlet.files()) {
    out.push_back(folder + "/" + path);
    disk.put(out.back(), bytes);
  }
  return out;
}

std::string name_or_none(const Source* source) {
  return source ? std::string(source->name) : "nobody's";
}

// What each program itself leaves: the same conversation in a place of its own at /h.
struct Fixture {
  std::string_view source;
  std::vector<std::pair<std::string, std::string>> files;
};

const std::vector<Fixture>& fixtures() {
  static const std::vector<Fixture> kAll = {
      {"crabtalk",
       {{"/h/sessions/crab_alice_1.jsonl",
         R"({"agent":"crab","created_by":"alice","created_at":"2026-04-29T08:01:02+00:00","title":"","uptime_secs":3}
{"role":"user","content":"Hi"}
{"role":"assistant","content":"Ho"}
)"}}},
      {"craft",
       {{"/h/workspaces/lab/sessions/260304-keen-otter/session.jsonl",
         R"({"id":"260304-keen-otter","createdAt":1772600000000,"lastUsedAt":1772600900000,"name":"Talk"}
{"id":"msg-1","content":"Hi","timestamp":1772600700000,"type":"user"}
{"id":"msg-2","content":"Ho","timestamp":1772600710000,"type":"assistant"}
)"}}},
      {"clawdbot",
       {{"/h/agents/main/sessions/sessions.json",
         R"({"agent:main:main":{"sessionId":"talk","updatedAt":1,"sessionFile":"/x/talk.jsonl"}})"},
        {"/h/agents/main/sessions/talk.jsonl", std::string(kTalk)}}},
      {"pi", {{"/h/sessions/--srv-app--/2026-01-02T03-04-05-678Z_talk.jsonl", std::string(kTalk)}}},
  };
  return kAll;
}

class Sources : public testing::TestWithParam<std::string_view> {
 protected:
  const Source& row() const { return *value_of(find_source(GetParam())); }

  static void expect_talk(MemoryFiles& disk, const Source& source, const std::string& path) {
    MemoryIntake intake(disk);
    value_of(source.read(disk, path, intake));
    for (const auto& problem : intake.problems()) ADD_FAILURE() << problem.path << problem.why;
    ASSERT_EQ(intake.sessions().size(), 1U) << path;
    const auto& session = intake.sessions()[0];
    EXPECT_TRUE(session.head.origin.starts_with(std::string(source.name) + ":"));
    EXPECT_EQ(session.said(), (std::vector<std::string>{"user: Hi", "assistant: Ho"})) << path;
  }
};

TEST_P(Sources, ReadsWhatItWrites) {
  ASSERT_FALSE(row().formats.empty());
  for (const auto& format : row().formats) {
    MemoryFiles disk;
    const auto files = put_talk(disk, format, "/out");
    ASSERT_FALSE(files.empty()) << format.name;
    const bool one = files.size() == 1;
    expect_talk(disk, row(), one ? files[0] : "/out");
  }
}

TEST_P(Sources, RecognisesItsOwnAndNobodyElseDoes) {
  for (const auto& format : row().formats) {
    MemoryFiles disk;
    const auto files = put_talk(disk, format, "/out");
    // A bundle stands for itself; the others are also recognised as a folder.
    if (format.name != "craft-bundle")
      EXPECT_EQ(name_or_none(recognise(disk, "/out")), row().name) << format.name;
    for (const auto& file : files)
      EXPECT_EQ(name_or_none(recognise(disk, file)), row().name) << file;
  }
}

TEST_P(Sources, IsFoundAtItsWellKnownPlaces) {
  ASSERT_FALSE(row().places.empty());
  const auto& format = row().formats[0];
  for (const auto& known : row().places) {
    MemoryFiles disk;
    put_talk(disk, format, "/elsewhere");
    const auto expect_one = [&](const std::string& path,
                                const std::map<std::string, std::string>& environment) {
      const auto places = find_places(disk, environment);
      ASSERT_EQ(places.size(), 1U) << known.variable;
      EXPECT_EQ(places[0].source, &row());
      EXPECT_EQ(places[0].path, path);
      EXPECT_GT(places[0].bytes, 0U);
    };
    expect_one("/elsewhere", {{"HOME", "/h"}, {std::string(known.variable), "/elsewhere/"}});
    if (known.below_home.empty()) continue;
    const auto path = fmt::format("/h/{}", known.below_home);
    put_talk(disk, format, path);
    expect_one(path, {{"HOME", "/h"}});
    EXPECT_EQ(find_places(disk, {}).size(), 0U);
  }
}

TEST_P(Sources, ReadsWhatTheProgramLeavesAndTakesTheWordOfAStoreOnly) {
  const auto fixture = std::find_if(fixtures().begin(), fixtures().end(),
                                    [](const auto& one) { return one.source == GetParam(); });
  ASSERT_NE(fixture, fixtures().end()) << "a new row needs a fixture";
  MemoryFiles disk;
  for (const auto& [path, bytes] : fixture->files) disk.put(path, bytes);
  EXPECT_EQ(name_or_none(recognise(disk, "/h")), row().name);
  for (const auto& [path, bytes] : fixture->files)
    EXPECT_EQ(name_or_none(recognise(disk, path)), row().name) << path;
  expect_talk(disk, row(), "/h");
  MemoryIntake intake(disk);
  value_of(row().read(disk, "/h", intake));
  EXPECT_EQ(intake.sessions()[0].head.of_store, row().has_store);
}

std::vector<std::string_view> names_of_rows() {
  std::vector<std::string_view> names;
  for (const auto& source : sources()) names.push_back(source.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, Sources, testing::ValuesIn(names_of_rows()),
                         [](const auto& info) { return std::string(info.param); });

TEST(SourceTable, NamesAreUniqueAndFindTheirRow) {
  std::set<std::string_view> names{"auto"};  // a word of `reef import`
  for (const auto& source : sources()) {
    EXPECT_TRUE(names.insert(source.name).second) << source.name;
    EXPECT_EQ(value_of(find_source(source.name)), &source);
    for (const auto alias : source.aliases) {
      EXPECT_TRUE(names.insert(alias).second) << alias;
      EXPECT_EQ(value_of(find_source(alias)), &source);
    }
  }
  const auto unknown = find_source("marvel\x1b[31m");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, Errc::invalid);
  EXPECT_NE(unknown.error().what.find("none of: crabtalk, craft, clawdbot, pi"), std::string::npos);
  EXPECT_EQ(unknown.error().what.find('\x1b'), std::string::npos);
}

TEST(SourceTable, FormatsAreUniqueAndThoseOfASourceAreAmongThem) {
  std::set<std::string_view> names;
  for (const auto& format : formats()) {
    EXPECT_TRUE(names.insert(format.name).second) << format.name;
    EXPECT_EQ(value_of(find_format(format.name)), &format);
  }
  for (const auto& source : sources())
    for (const auto& format : source.formats) EXPECT_TRUE(names.contains(format.name));
}

TEST(SourceTable, VariablesAreUnique) {
  const auto all = place_variables();
  const std::set<std::string_view> unique(all.begin(), all.end());
  EXPECT_EQ(unique.size(), all.size());
  EXPECT_TRUE(unique.contains("HOME"));
  EXPECT_FALSE(unique.contains(""));
}

TEST(Recognise, OtherFilesAreNobodys) {
  MemoryFiles disk;
  disk.put("/r/package.json", R"({"version":1,"files":[]})");
  disk.put("/r/log.jsonl", "{\"type\":\"log\"}\n");
  disk.put("/r/empty.jsonl", "");
  disk.put("/r/bytes.jsonl", "\xff\xfe\n");
  disk.put("/r/sessions/notes/readme.md", "hello");
  for (const auto* path : {"/r", "/r/package.json", "/r/log.jsonl", "/r/empty.jsonl",
                           "/r/bytes.jsonl", "/r/sessions", "/nowhere", ""})
    EXPECT_EQ(name_or_none(recognise(disk, path)), "nobody's") << path;
}

TEST(Recognise, ReefsOwnTranscriptsArePis) {
  MemoryFiles disk;
  disk.put("/copy/sessions/talk/session.jsonl", std::string(kTalk));
  EXPECT_EQ(name_or_none(recognise(disk, "/copy/sessions/talk/session.jsonl")), "pi");
  EXPECT_EQ(name_or_none(recognise(disk, "/copy/sessions/talk")), "pi");
}

}  // namespace
}  // namespace reef::exchange
