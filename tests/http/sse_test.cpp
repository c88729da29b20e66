#include "http/sse.h"

#include <gtest/gtest.h>

namespace reef::http::sse {
namespace {

using Events = std::vector<std::pair<std::string, std::string>>;

Events read(std::string_view bytes, std::size_t step) {
  Parser parser;
  Events events;
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    parser.feed(bytes.substr(at, step));
    for (;;) {
      auto event = parser.next();
      EXPECT_TRUE(event) << event.error().what;
      if (!event || !*event) break;
      events.emplace_back((*event)->type, (*event)->data);
    }
  }
  return events;
}

struct Case {
  const char* name;
  std::string_view bytes;
  Events events;
};

const Case kCases[] = {
    {"LineFeeds", "data: a\n\ndata: b\n\n", {{"", "a"}, {"", "b"}}},
    {"CarriageReturns", "data: a\r\rdata: b\r\r", {{"", "a"}, {"", "b"}}},
    {"Both", "data: a\r\n\r\ndata: b\r\n\r\n", {{"", "a"}, {"", "b"}}},
    {"Mixed", "data: a\r\ndata: b\n\rdata: c\r\n\n", {{"", "a\nb"}, {"", "c"}}},
    {"ManyLines", "data: a\ndata\ndata: \ndata:b\n\n", {{"", "a\n\n\nb"}}},
    {"OnlyOneSpaceGoes", "data:  a \n\n", {{"", " a "}}},
    {"Names", "event: x\ndata: a\n\ndata: b\n\n", {{"x", "a"}, {"", "b"}}},
    {"ANameWithoutDataIsNoEvent", "event: x\n\ndata: b\n\n", {{"", "b"}}},
    {"EmptyDataIsAnEvent", "data\n\ndata:\n\n", {{"", ""}, {"", ""}}},
    {"Comments", ": hi\n:\n:data: no\ndata: a\n: in between\n\n", {{"", "a"}}},
    {"UnknownFields", "id: 7\nretry: 10\nfoo: bar\nDATA: no\ndata: a\n\n", {{"", "a"}}},
    {"ByteOrderMark",
     "\xEF\xBB\xBF"
     "data: a\n\n",
     {{"", "a"}}},
    {"AMarkLaterIsNotOne",
     "data: a\n\n\xEF\xBB\xBF"
     "data: b\n\n",
     {{"", "a"}}},
    {"AnUnfinishedEventIsNone", "data: a\n\ndata: b\n", {{"", "a"}}},
    {"Colons", "data: a: b:c\n\n", {{"", "a: b:c"}}},
};

TEST(Sse, WhereToGoOnIsKept) {
  Parser parser;
  parser.feed("id: 7\nretry: 250\ndata: a\n\nid: 8\n\nid: 9\ndata: b\n");
  ASSERT_TRUE(parser.next());
  EXPECT_EQ(parser.last_id(), "7");
  EXPECT_EQ(parser.retry(), std::chrono::milliseconds(250));
  const auto none = parser.next();
  ASSERT_TRUE(none);
  EXPECT_FALSE(*none);
  EXPECT_EQ(parser.last_id(), "8")
      << "an event without data moves on, too; an unfinished one does not";
  parser.feed("retry: soon\nretry: -1\nid\n\n");
  ASSERT_TRUE(parser.next());
  EXPECT_EQ(parser.last_id(), "") << "an empty id takes it back";
  EXPECT_EQ(parser.retry(), std::chrono::milliseconds(250));
}

TEST(Sse, EveryCutReadsTheSame) {
  for (const auto& one : kCases)
    for (std::size_t step = 1; step <= one.bytes.size(); ++step)
      EXPECT_EQ(read(one.bytes, step), one.events) << one.name << " in steps of " << step;
}

TEST(Sse, AnEventIsThereAsSoonAsItsBlankLineIs) {
  Parser parser;
  parser.feed("data: a\r\n\r");
  const auto event = parser.next();
  ASSERT_TRUE(event && *event);
  EXPECT_EQ((*event)->data, "a");
  parser.feed("\n");
  EXPECT_FALSE(*parser.next());
  EXPECT_FALSE(parser.rest());
}

TEST(Sse, TheRestIsWhatLacksOnlyItsBlankLine) {
  for (const std::string_view bytes : {"data: [DONE]", "data: [DONE]\n", "data: [DONE]\r"}) {
    Parser parser;
    parser.feed(bytes);
    EXPECT_FALSE(*parser.next());
    const auto rest = parser.rest();
    ASSERT_TRUE(rest);
    EXPECT_EQ(rest->data, "[DONE]");
  }
}

TEST(Sse, SizesAreBounded) {
  Parser endless(100);
  endless.feed("data: " + std::string(200, 'x'));
  ASSERT_FALSE(endless.next());
  EXPECT_EQ(endless.next().error().code, Errc::too_large);

  Parser many(100);
  for (int i = 0; i < 20; ++i) many.feed("data: 1234567890\n");
  EXPECT_EQ(many.next().error().code, Errc::too_large);
  many.feed("\n\ndata: a\n\n");
  EXPECT_EQ(many.next().error().code, Errc::too_large);
  EXPECT_FALSE(many.rest());
}

}  // namespace
}  // namespace reef::http::sse
