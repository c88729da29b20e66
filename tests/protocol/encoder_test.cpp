#include "protocol/encoder.h"

#include <gtest/gtest.h>

#include "protocol/protocol.h"

namespace reef::protocol {
namespace {

TEST(Encoder, WritesWhatTheGeneratedCodeWrites) {
  for (const std::uint32_t number : {0U, 1U, 127U, 128U, 70'000U, UINT32_MAX}) {
    FoundItem item;
    item.set_entry("a1b2");
    item.set_index(number);
    item.set_snippet(std::string(number % 1000, 'x') + "\xC3\xA9");
    item.set_truncated(number % 2 == 1);
    if (number > 1) item.mutable_matches()->Add(number);
    item.mutable_matches()->Add(3);
    std::string bytes;
    Encoder out(bytes);
    out.text(FoundItem::kEntryFieldNumber, item.entry());
    out.text(FoundItem::kRoleFieldNumber, item.role());
    out.number(FoundItem::kIndexFieldNumber, number);
    out.text(FoundItem::kSnippetFieldNumber, item.snippet());
    out.flag(FoundItem::kTruncatedFieldNumber, item.truncated());
    out.numbers(FoundItem::kMatchesFieldNumber,
                std::vector(item.matches().begin(), item.matches().end()));
    EXPECT_EQ(bytes, item.SerializeAsString()) << number;

    FoundHit hit;
    hit.set_score(number == 0 ? 0.0 : -1.5 * number);
    hit.set_hit(number);
    *hit.add_items() = item;
    *hit.add_items() = item;
    std::string whole;
    Encoder outer(whole);
    outer.real(FoundHit::kScoreFieldNumber, hit.score());
    outer.number(FoundHit::kHitFieldNumber, hit.hit());
    outer.message(FoundHit::kItemsFieldNumber, bytes);
    const auto before = whole.size();
    outer.start(FoundHit::kItemsFieldNumber, bytes.size());
    whole += bytes;
    EXPECT_EQ(whole.size() - before,
              Encoder::message_size(FoundHit::kItemsFieldNumber, bytes.size()));
    EXPECT_EQ(whole, hit.SerializeAsString());
  }
}

}  // namespace
}  // namespace reef::protocol
