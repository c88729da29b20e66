#include "bus/source.h"

#include <gtest/gtest.h>

#include "bus/subscriptions_file.h"
#include "support/run.h"

namespace reef::bus {
namespace {

TEST(Source, ExactPartsAndStarsForWholeParts) {
  EXPECT_TRUE(matches("agent:scout:done", "agent:scout:done"));
  EXPECT_TRUE(matches("agent:*:done", "agent:scout:done"));
  EXPECT_TRUE(matches("*", "rss"));
  EXPECT_TRUE(matches("*:*", "rss:fetched"));
  EXPECT_FALSE(matches("*", "rss:fetched"));
  EXPECT_FALSE(matches("rss:*", "rss"));
  EXPECT_FALSE(matches("rss:*", "rss:a:b"));
  EXPECT_FALSE(matches("agent:scout", "agent:scout:done"));
  EXPECT_FALSE(matches("agent:scout:done", "agent:scout:Done"));
}

TEST(Source, NamesAreCheckedAndTheErrorSaysWhy) {
  for (const auto* good : {"a", "rss:fetched", "a:b:c", "späti:offen", "with space"})
    EXPECT_TRUE(check_source(good)) << good;
  for (const auto* bad : {"", ":", "a:", ":a", "a::b", "a\nb", "\xff", "a:*"})
    EXPECT_FALSE(check_source(bad)) << bad;
  EXPECT_TRUE(check_pattern("a:*"));
  EXPECT_FALSE(check_pattern("a:b*"));
  EXPECT_EQ(check_source("a:*").error().what,
            "source 'a:*' has a *, which only subscriptions may have");
  EXPECT_FALSE(check_source(std::string(kSourceBytesMax + 1, 'x')));
  EXPECT_FALSE(check_source("a:b:c:d:e:f:g:h:i:j:k:l:m:n:o:p:q"));
}

TEST(SubscriptionsFile, AWrittenFileIsReadBack) {
  Subscriptions all;
  all.last_id = 7;
  all.list.push_back({3, "agent:\"odd\" name:done", "writer", true});
  all.list.push_back({7, "rss:*", "späti", false});
  const auto read = test::value_of(parse_subscriptions(write_subscriptions(all), "f"));
  EXPECT_EQ(read.last_id, 7U);
  ASSERT_EQ(read.list.size(), 2U);
  EXPECT_EQ(read.list[0].source, "agent:\"odd\" name:done");
  EXPECT_TRUE(read.list[0].once);
  EXPECT_EQ(read.list[1].target_agent, "späti");
  EXPECT_TRUE(test::value_of(parse_subscriptions("", "f")).list.empty());
}

TEST(SubscriptionsFile, MistakesAreNamedWithTheirLine) {
  const auto error = [](const char* text) {
    const auto read = parse_subscriptions(text, "f");
    return read ? std::string("(read)") : read.error().what;
  };
  EXPECT_EQ(error("[[subscription]]\nsource = \"a\"\n").substr(0, 4), "f:1:");
  EXPECT_NE(error("subscription = 3\n"), "(read)");
  EXPECT_NE(error("[[subscription]]\nid = 1\nsource = \"a:\"\ntarget_agent = \"x\"\n"), "(read)");
  EXPECT_NE(error("[[subscription]]\nid = -1\nsource = \"a\"\ntarget_agent = \"x\"\n"), "(read)");
  EXPECT_NE(error("[[subscription]]\nid = 1\nsource = \"a\"\ntarget_agent = \"x\"\nonce = 1\n"),
            "(read)");
  EXPECT_NE(error("[[subscription\n"), "(read)");
}

}  // namespace
}  // namespace reef::bus
