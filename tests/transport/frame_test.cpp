#include "transport/frame.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace reef::transport {
namespace {

TEST(Frame, RoundTripsHoweverItIsCut) {
  SeededRandom random(5);
  for (int round = 0; round < 200; ++round) {
    std::string bytes;
    std::vector<std::string> sent;
    for (auto left = 1 + random.below(5); left > 0; --left) {
      sent.push_back(std::string(random.below(300), static_cast<char>('a' + left)));
      bytes += make_frame(sent.back());
    }
    FrameReader reader;
    std::vector<std::string> got;
    for (std::size_t at = 0; at < bytes.size();) {
      const auto size = std::min<std::size_t>(1 + random.below(50), bytes.size() - at);
      reader.feed(std::string_view(bytes).substr(at, size));
      at += size;
      for (;;) {
        auto payload = reader.next();
        ASSERT_TRUE(payload);
        if (!*payload) break;
        got.emplace_back(**payload);
      }
    }
    EXPECT_EQ(got, sent);
    EXPECT_EQ(reader.unfinished(), 0U);
  }
}

TEST(Frame, LengthIsBigEndianAndDoesNotCountItself) {
  EXPECT_EQ(make_frame("abc"), std::string("\0\0\0\3abc", 7));
  EXPECT_EQ(make_frame(""), std::string("\0\0\0\0", 4));
}

TEST(Frame, AnnouncedBytesAreNotAllocated) {
  FrameReader reader;
  reader.feed(std::string("\x01\0\0\0", 4));  // exactly 16 MiB
  const auto waiting = reader.next();
  ASSERT_TRUE(waiting);
  EXPECT_FALSE(*waiting);
  EXPECT_EQ(reader.unfinished(), 4U);
}

TEST(Frame, OneByteTooManyIsRefusedForGood) {
  FrameReader reader;
  reader.feed(std::string("\x01\0\0\1", 4));
  for (int i = 0; i < 2; ++i) {
    const auto refused = reader.next();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::too_large);
  }
}

TEST(Frame, AnUnfinishedFrameIsVisible) {
  FrameReader reader;
  reader.feed(std::string("\0\0\0\5ab", 6));
  EXPECT_FALSE(*reader.next());
  EXPECT_EQ(reader.unfinished(), 6U);
}

}  // namespace
}  // namespace reef::transport
