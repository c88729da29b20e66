// Searches in which a second thread reads some of the documents.
#include "base/helper.h"

#include <thread>

#include "search/open_index.h"

namespace reef::search::test {
namespace {

TEST(Helper, AHelperChangesNothing) {
  TempDir dir;
  PosixFiles files;
  auto index = open_index(files, dir.path());
  SeededRandom random(5);
  const std::string common[] = {"alpha", "beta", "gamma", "delta", "rare"};
  for (std::uint64_t key = 0; key < 40'000; ++key) {
    std::string text;
    for (std::size_t n = 0; n < 4; ++n)
      for (auto times = 1 + random.below(3); times > 0 && random.below(8) > 0; --times)
        text += common[n] + " ";
    text += random.below(500) == 0 ? "rare" : "other";
    const FieldText field{static_cast<std::uint8_t>(random.below(3)), text};
    const auto group = index->group(fmt::format("g{}", key / 100));
    index->add({.group = group, .key = key, .time_ms = static_cast<std::int64_t>(key % 50)},
               {&field, 1});
  }
  ASSERT_TRUE(index->flush().ok());
  for (std::uint64_t key = 0; key < 40'000; key += 7)
    index->remove(index->group(fmt::format("g{}", key / 100)), key);
  Helper helper;
  Filter some;
  some.accept = [](const DocumentRow& row) { return row.time_ms % 3 != 0; };
  for (const char* text :
       {"alpha beta gamma", "alpha beta gamma delta rare", "beta delta alpha -rare",
        "alpha beta delta -gamma", "alpha alpha beta gam*"})
    for (const bool filtered : {false, true})
      for (const std::size_t limit : {1U, 20U, 200U}) {
        SCOPED_TRACE(fmt::format("{} {} {}", text, filtered, limit));
        const auto query = parse_query(text);
        const auto alone = index->prepare(query).best(filtered ? some : Filter(), limit);
        ASSERT_EQ(alone.size(), limit);
        for (const bool awake : {true, false}) {
          auto searcher = index->prepare(query);
          if (awake) helper.call();
          // The second thread need not come, but it gets time to.
          for (int i = 0; awake && !helper.present() && i < 1000; ++i) std::this_thread::yield();
          searcher.use(helper);
          const auto helped = searcher.best(filtered ? some : Filter(), limit);
          ASSERT_EQ(keys(helped), keys(alone));
          for (std::size_t i = 0; i < limit; ++i) {
            EXPECT_EQ(helped[i].score, alone[i].score);
            EXPECT_EQ(helped[i].matched, alone[i].matched);
          }
          auto again = alone;
          for (auto& hit : again) hit.score = 0;
          searcher.score(again);
          for (std::size_t i = 0; i < limit; ++i) EXPECT_EQ(again[i].score, alone[i].score);
          helper.dismiss();
        }
      }
}

}  // namespace
}  // namespace reef::search::test
