// Pages of entries, held against the reader that reads everything.
#include "session/pages.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "session/reader.h"
#include "store/mem/mem_transcripts.h"
#include "support/run.h"

namespace reef::session {
namespace {

class PagesTest : public testing::Test {
 protected:
  void hold(std::string bytes) {
    size = bytes.size();
    store.raw()[id] = std::move(bytes);
  }
  LinePage after(std::uint64_t from, PageLimits limits) {
    return test::value_of(test::run(io, lines_after(store, id, from, limits)));
  }
  LinePage before(std::uint64_t to, PageLimits limits) {
    return test::value_of(test::run(io, lines_before(store, id, to, limits)));
  }
  std::optional<Line> find(const std::string& name) {
    return test::value_of(test::run(io, find_line(store, id, name, size)));
  }
  static std::string ids(const std::vector<Line>& lines) {
    std::string out;
    for (const auto& line : lines) out += line.id + " ";
    return out;
  }
  std::string all_forwards(PageLimits limits) {
    std::string out;
    for (std::uint64_t at = 0;;) {
      const auto page = after(at, limits);
      out += ids(page.lines);
      if (page.ends) return out;
      EXPECT_GT(page.to, at);
      if (page.to <= at) return out + "stuck";
      at = page.to;
    }
  }
  std::string all_backwards(PageLimits limits) {
    std::string out;
    for (auto at = size; at > 0;) {
      const auto page = before(at, limits);
      out = ids(page.lines) + out;
      EXPECT_LT(page.from, at);
      if (page.from >= at) return out + "stuck";
      at = page.from;
    }
    return out;
  }
  static std::string header() {
    return R"({"type":"session","version":3,"id":"x","timestamp":"2026-01-02T03:04:06.000Z"})"
           "\n";
  }
  static std::string line(const std::string& name, std::size_t more = 0) {
    return R"({"type":"custom","id":")" + name + R"(","parentId":null,"data":")" +
           std::string(more, 'x') + "\"}\n";
  }

  boost::asio::io_context io{1};
  store::MemTranscripts store;
  SessionId id = *SessionId::parse("260102-long-oak");
  std::uint64_t size = 0;
};

TEST_F(PagesTest, BothEndsAndWhatLiesBetween) {
  hold(header() + line("a") + line("b") + line("c") + line("d"));
  EXPECT_EQ(ids(before(size, {.lines_max = 2}).lines), "c d ");
  EXPECT_FALSE(before(size, {.lines_max = 2}).begins);
  EXPECT_EQ(ids(after(0, {.lines_max = 2}).lines), "a b ") << "the header is no entry";
  const auto c = *find("c");
  EXPECT_EQ(ids(before(c.at, {.lines_max = 10}).lines), "a b ");
  EXPECT_TRUE(before(c.at, {.lines_max = 10}).begins);
  EXPECT_EQ(ids(after(c.at + c.bytes, {.lines_max = 10}).lines), "d ");
  EXPECT_TRUE(after(c.at, {.lines_max = 10}).ends);
  EXPECT_EQ(ids(after(0, {.lines_max = 10, .end = c.at}).lines), "a b ");
  EXPECT_EQ(c.json + "\n", line("c"));
}

TEST_F(PagesTest, NamesFindTheirLineAlsoWhenTheFileWasMadeAnew) {
  hold(header() + line("a") + line("b") + line("a") + line("c@7"));
  const auto first = after(0, {.lines_max = 1}).lines.front();
  EXPECT_EQ(find(place_name(first))->at, first.at) << "a place is exact";
  EXPECT_GT(find("a")->at, first.at) << "an id is the last one of that id";
  EXPECT_EQ(find("c@7")->id, "c@7");
  hold(header() + line("new") + line("a") + line("b"));
  EXPECT_EQ(find(place_name(first))->id, "a");
  for (const auto* name : {"", "@", "nobody", "nobody@5", "a@99999999999999999999", "@0"})
    EXPECT_FALSE(find(name)) << name;
  EXPECT_FALSE(find(std::string(100'000, 'a') + "@0"));
}

TEST_F(PagesTest, ALineThatIsTooLongIsNamedAndPassedOver) {
  hold(header() + line("a") + line("big", 300'000) + line("b"));
  PageLimits limits{.lines_max = 10, .line_bytes_max = 100'000};
  for (const auto& lines : {after(0, limits).lines, before(size, limits).lines}) {
    ASSERT_EQ(ids(lines), "a big b ");
    EXPECT_TRUE(lines[1].too_long);
    EXPECT_EQ(lines[1].json, "");
    EXPECT_GT(lines[1].bytes, 300'000U);
    EXPECT_FALSE(lines[2].too_long);
  }
}

TEST_F(PagesTest, ALineWithoutItsEndIsNoneYet) {
  hold(header() + line("a") + R"({"type":"custom","id":"b")");
  const auto page = after(0, {.lines_max = 10});
  EXPECT_EQ(ids(page.lines), "a ");
  EXPECT_TRUE(page.ends);
  EXPECT_EQ(page.to, header().size() + line("a").size());
  store.raw()[id] += ",\"parentId\":null}\n" + line("c");
  EXPECT_EQ(ids(after(page.to, {.lines_max = 10}).lines), "b c ");
  hold("");
  EXPECT_TRUE(after(0, {.lines_max = 10}).ends);
  EXPECT_TRUE(before(0, {.lines_max = 10}).begins);
}

// Whatever stands in the file, pages of any size from either end are what the whole reader finds.
TEST_F(PagesTest, PagesAreWhatTheReaderReads) {
  const std::vector<std::string> odd = {
      "\n",
      "  \r\n",
      "broken {\n",
      "[]\n",
      "\"text\"\n",
      R"({"id":"untyped"})"
      "\n",
      "\xff\xfe\n",
      R"({"type":"custom"})"
      "\n",
      R"({"type":"cust{"type":"custom","id":"glued","parentId":null})"
      "\n"};
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SeededRandom random(seed);
    auto bytes = random.below(8) ? header() : std::string();
    const auto lines = random.below(30);
    for (std::uint64_t i = 0; i < lines; ++i) {
      if (random.below(5) == 0) {
        bytes += odd[random.below(odd.size())];
      } else {
        const auto longer = random.below(20) == 0 ? random.below(200'000) : random.below(200);
        bytes += line("e" + std::to_string(i), longer);
      }
    }
    hold(bytes);
    std::string wanted;
    for (const auto& entry : read_transcript(bytes).entries)
      wanted += std::string(json::find_string(entry.body, "id").value_or("")) + " ";
    PageLimits limits{.lines_max = 1 + random.below(7), .bytes_max = 1 + random.below(10'000)};
    EXPECT_EQ(all_forwards(limits), wanted) << "seed " << seed;
    EXPECT_EQ(all_backwards(limits), wanted) << "seed " << seed;
  }
}

}  // namespace
}  // namespace reef::session
