// The operations on contents alone: what they do, what they refuse, and that a refusal changes
// nothing.
#include "memory/operations.h"

#include <gtest/gtest.h>

#include "support/run.h"

namespace reef::memory {
namespace {

using Names = std::vector<std::string>;

class OperationsTest : public testing::Test {
 protected:
  EntryPtr must(const Operation& operation) {
    auto done = apply(contents, operation, ++now);
    if (!done) throw std::runtime_error(done.error().what);
    return *std::move(done);
  }
  // The operation fails with these words and changes nothing.
  void refused(const Operation& operation, Errc code, std::string_view why) {
    const auto before = contents;
    const auto done = apply(contents, operation, ++now);
    ASSERT_FALSE(done) << why;
    EXPECT_EQ(done.error().code, code) << done.error().what;
    EXPECT_NE(done.error().what.find(why), std::string::npos) << done.error().what;
    EXPECT_TRUE(contents == before) << why;
  }

  Contents contents;
  std::uint64_t now = 1000;
};

TEST_F(OperationsTest, AddGivesIdsThatAreNeverGivenAgain) {
  EXPECT_EQ(must(Add{"a", "one", {}, Kind::note})->id, 1U);
  const auto second = must(Add{"b", "two", {"bee"}, Kind::archive});
  EXPECT_EQ(*second, (Entry{2, 1002, Kind::archive, "b", "two", {"bee"}}));
  must(Remove{"b"});
  EXPECT_EQ(must(Add{"c", "three", {}, Kind::note})->id, 3U);
  EXPECT_EQ(contents.next_id, 4U);
}

TEST_F(OperationsTest, AnIdIsFreshAlsoWhenTheFilesNextIdLagsBehind) {
  contents.entries.push_back(std::make_shared<const Entry>(Entry{7, 1, Kind::note, "old", "", {}}));
  EXPECT_EQ(must(Add{"a", "", {}, Kind::note})->id, 8U);
  contents.entries.clear();
  contents.next_id = 1;
  contents.entries.push_back(
      std::make_shared<const Entry>(Entry{~0ULL, 1, Kind::note, "last", "", {}}));
  refused(Add{"a", "", {}, Kind::note}, Errc::too_large, "no more ids");
}

TEST_F(OperationsTest, NamesAndAliasesAreUniqueAcrossBoth) {
  must(Add{"deploy", "x", {"ship", "release"}, Kind::note});
  must(Add{"other", "x", {}, Kind::note});
  refused(Add{"deploy", "y", {}, Kind::note}, Errc::conflict, "an entry named 'deploy' already");
  refused(Add{"ship", "y", {}, Kind::note}, Errc::conflict, "'ship' is an alias of 'deploy'");
  refused(Add{"new", "y", {"deploy"}, Kind::note}, Errc::conflict, "'deploy'");
  refused(Add{"new", "y", {"release"}, Kind::note}, Errc::conflict, "'release' is an alias");
  refused(Rename{"other", "ship"}, Errc::conflict, "'ship' is an alias");
  refused(Alias{"other", {"deploy"}, {}}, Errc::conflict, "'deploy'");
  refused(Remember{"other", "x", Names{"ship"}}, Errc::conflict, "'ship'");
  // The entry's own name and a repetition are not kept as aliases.
  EXPECT_EQ(must(Add{"new", "y", {"new", "n", "n"}, Kind::note})->aliases, Names{"n"});
}

TEST_F(OperationsTest, AnAliasIsAsGoodAsTheName) {
  must(Add{"deploy", "x", {"ship"}, Kind::note});
  EXPECT_EQ(must(Write{"ship", "y", {}})->name, "deploy");
  EXPECT_EQ(must(Remember{"ship", "z", {}})->aliases, Names{"ship"});
  EXPECT_EQ(contents.entries.size(), 1U);
  EXPECT_EQ(must(Forget{"ship"})->content, "z");
  EXPECT_TRUE(contents.entries.empty());
}

TEST_F(OperationsTest, WriteKeepsIdTimeAndKind) {
  must(Add{"sum", "x", {"s"}, Kind::archive});
  const auto written = must(Write{"sum", "y", Names{"t"}});
  EXPECT_EQ(*written, (Entry{1, 1001, Kind::archive, "sum", "y", {"t"}}));
  refused(Write{"ghost", "y", {}}, Errc::not_found, "no entry named 'ghost'");
}

TEST_F(OperationsTest, RenameFreesTheOldNameOfANote) {
  must(Add{"a", "x", {"b"}, Kind::note});
  EXPECT_EQ(*must(Rename{"a", "b"}), (Entry{1, 1001, Kind::note, "b", "x", {}}));
  must(Add{"a", "free again", {}, Kind::note});
  EXPECT_EQ(must(Rename{"b", "b"})->name, "b");
}

TEST_F(OperationsTest, ARenamedArchiveIsStillFoundByTheNameATranscriptHas) {
  must(Add{"reef-user-1-1", "x", {}, Kind::archive});
  must(Rename{"reef-user-1-1", "the first week"});
  EXPECT_EQ(contents.find("reef-user-1-1")->name, "the first week");
}

TEST_F(OperationsTest, AliasesComeAndGo) {
  must(Add{"a", "x", {"one", "two"}, Kind::note});
  EXPECT_EQ(must(Alias{"a", {"three", "two"}, {"one"}})->aliases, (Names{"two", "three"}));
  refused(Alias{"a", {"four"}, {"one"}}, Errc::not_found, "'one' is no alias of 'a'");
}

TEST_F(OperationsTest, RememberAndForgetLeaveArchivesAndTopicsAlone) {
  must(Add{"sum", "x", {"s"}, Kind::archive});
  must(Add{"top", "x", {}, Kind::topic});
  for (const std::string name : {"sum", "s", "top"}) {
    refused(Remember{name, "y", {}}, Errc::denied, "is not a note");
    refused(Forget{name}, Errc::denied, "is not a note");
  }
  refused(Forget{"ghost"}, Errc::not_found, "no entry named 'ghost'");
}

TEST_F(OperationsTest, RememberWithoutAliasesKeepsThoseThereAre) {
  must(Remember{"a", "x", Names{"one"}});
  EXPECT_EQ(must(Remember{"a", "y", {}})->aliases, Names{"one"});
  EXPECT_EQ(must(Remember{"a", "y", Names{}})->aliases, Names{});
}

TEST_F(OperationsTest, HostileNamesAreRefused) {
  for (const auto& name : {std::string(), std::string("a\nb"), std::string("a\tb"),
                           std::string("\x1b[2J"), std::string("a\0b", 3), std::string("\xff"),
                           std::string(" a"), std::string("a "), std::string("\xc2\x85")}) {
    refused(Add{name, "x", {}, Kind::note}, Errc::invalid, "name");
    refused(Add{"ok", "x", {name}, Kind::note}, Errc::invalid, "alias");
  }
  refused(Add{std::string(kNameBytesMax + 1, 'x'), "", {}, Kind::note}, Errc::too_large, "at most");
  must(Add{std::string(kNameBytesMax, 'x'), "", {}, Kind::note});
  for (const std::string name : {"..", "a/b", "C:\\x", "Grüße an Jörg", "日本", "-rf", "%2F"})
    must(Add{name, "x", {}, Kind::note});
}

TEST_F(OperationsTest, SizesHaveLimits) {
  refused(Add{"a", std::string(kContentBytesMax + 1, 'x'), {}, Kind::note}, Errc::too_large,
          "at most 1048576 bytes");
  refused(Add{"a", "\xff", {}, Kind::note}, Errc::invalid, "UTF-8");
  Names many;
  for (std::size_t i = 0; i <= kAliasesMax; ++i) many.push_back("n" + std::to_string(i));
  refused(Add{"a", "", many, Kind::note}, Errc::too_large, "at most 64 aliases");
  // The memory as a whole is limited too.
  const std::string large(kContentBytesMax, 'x');
  while (serialized_bytes(contents) + kContentBytesMax + 100 < kMemoryBytesMax)
    must(Add{"n" + std::to_string(now), large, {}, Kind::note});
  refused(Add{"one too many", large, {}, Kind::note}, Errc::too_large, "forget something");
  must(Add{"a", "small", {}, Kind::note});
  refused(Write{"a", large, {}}, Errc::too_large, "forget something");
}

// A file of another program may be larger than the limit; it can still become smaller.
TEST_F(OperationsTest, AMemoryThatIsTooLargeCanShrink) {
  const std::string large(kMemoryBytesMax, 'x');
  contents.entries.push_back(
      std::make_shared<const Entry>(Entry{1, 1, Kind::note, "huge", large, {}}));
  contents.next_id = 2;
  refused(Add{"a", "x", {}, Kind::note}, Errc::too_large, "forget something");
  must(Write{"huge", large.substr(0, kContentBytesMax), {}});
  must(Add{"a", "x", {}, Kind::note});
}

Contents held(std::vector<Entry> entries) {
  Contents out;
  for (auto& entry : entries) {
    out.next_id = entry.id + 1;
    out.entries.push_back(std::make_shared<const Entry>(std::move(entry)));
  }
  return out;
}

Names many(std::size_t count) {
  Names out;
  for (std::size_t i = 0; i < count; ++i) out.push_back("alias " + std::to_string(i));
  return out;
}

TEST_F(OperationsTest, ALoadObeysTheLimitsOfWrites) {
  must(Add{"deploy", "x", {"ship"}, Kind::note});
  const auto bad = [&](Entry entry, Errc code, std::string_view why) {
    refused(Replace{held({std::move(entry)})}, code, why);
  };
  // Neither a new entry nor one that replaces an entry may exceed the limits.
  for (const std::uint64_t id : {1U, 7U}) {
    bad({id, 1, Kind::note, "a", std::string(kContentBytesMax + 1, 'x'), {}}, Errc::too_large,
        "entry 'a' (id " + std::to_string(id) + "): an entry's content has at most 1048576");
    bad({id, 1, Kind::note, "a", "", {std::string(5000, 'n')}}, Errc::too_large, "alias 'nnn");
    bad({id, 1, Kind::note, "a", "", many(kAliasesMax + 1)}, Errc::too_large, "at most 64 aliases");
    bad({id, 1, Kind::note, "a\nb", "", {}}, Errc::invalid, "name 'a b' must not hold control");
    bad({id, 1, Kind::note, "a", "", {"b\tc"}}, Errc::invalid, "alias 'b c' must not hold");
    bad({id, 1, Kind::note, "", "", {}}, Errc::invalid, "the name must not be empty");
    bad({id, 1, Kind::note, "a", "", {"a"}}, Errc::conflict, "'a' is there more than once");
  }
  refused(Replace{held(
              {{1, 1, Kind::note, "deploy", "", {"ship"}}, {2, 1, Kind::note, "b", "", {"ship"}}})},
          Errc::conflict, "entry 'b' (id 2): alias 'ship' is there more than once");
  std::vector<Entry> too_many;
  for (std::uint64_t id = 1; id <= kEntriesMax + 1; ++id)
    too_many.push_back({id, 1, Kind::note, "n" + std::to_string(id), "", {}});
  refused(Replace{held(std::move(too_many))}, Errc::too_large, "at most 50000 entries");
  must(Replace{
      held({{1, 1, Kind::note, "a", std::string(kContentBytesMax, 'x'), many(kAliasesMax)}})});
}

TEST_F(OperationsTest, ALoadDoesNotChangeAKind) {
  contents = held({{1, 5, Kind::note, "a", "x", {}}, {2, 6, Kind::archive, "b", "y", {}}});
  const auto before = contents;
  const auto loaded = [&](Entry entry) { return Replace{held({std::move(entry)})}; };
  refused(loaded({1, 5, Kind::archive, "a", "x", {}}), Errc::invalid,
          "entry 'a' (id 1): it is kept as note, and cannot become archive");
  refused(loaded({1, 5, Kind::topic, "other name", "x", {}}), Errc::invalid, "kept as note");
  refused(loaded({2, 9, Kind::note, "b", "other time", {}}), Errc::invalid, "kept as archive");
  EXPECT_TRUE(contents == before);
  // An entry of another memory may have the same id by chance, or an id that is new here.
  must(loaded({1, 99, Kind::archive, "c", "z", {}}));
  must(loaded({3, 99, Kind::note, "c", "z", {}}));
}

TEST_F(OperationsTest, EntriesBeyondTheLimitsComeBackWithALoad) {
  const std::vector<Entry> wild{
      {1, 1, Kind::note, "", std::string(kContentBytesMax + 1, 'x'), many(kAliasesMax + 9)},
      {2, 1, Kind::note, "a\nb", "", {std::string(5000, 'n'), "ship", "ship"}},
      {3, 1, Kind::archive, std::string(5000, 'n'), "", {"ship"}}};
  contents = held(wild);
  const auto all = contents;
  must(Replace{all});
  EXPECT_TRUE(contents == all);
  // Other parts of those entries may change.
  auto changed = wild;
  changed[0].aliases.pop_back();
  changed[1].content = "new";
  changed[2].aliases = {"fine"};
  must(Replace{held(changed)});
  // But no change may exceed another limit, or a limit in another entry.
  changed[0].aliases = many(kAliasesMax + 9);
  changed[0].aliases.push_back("more");
  refused(Replace{held(changed)}, Errc::too_large, "at most 64 aliases");
  contents = all;
  changed = wild;
  changed[0].id = 9;
  std::swap(changed[0], changed[2]);
  refused(Replace{held(changed)}, Errc::invalid, "must not be empty");
}

}  // namespace
}  // namespace reef::memory
