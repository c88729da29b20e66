// Searches for which a second thread reads some of the documents.
#include "base/helper.h"

#include <atomic>
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
  Pool helping(2);
  // The only thread of this one is busy until the end.
  std::atomic<bool> over = false;
  Pool busy(1);
  busy.post([&over] { over.wait(false); });
  struct End {
    std::atomic<bool>& over;
    ~End() {
      over = true;
      over.notify_all();
    }
  } end{over};
  Filter some;
  some.accept = [](const DocumentRow& row) { return row.time_ms % 3 != 0; };
  for (const char* text :
       {"alpha beta gamma", "alpha beta gamma delta rare", "beta delta alpha -rare",
        "alpha beta delta -gamma", "alpha alpha beta gam*"})
    for (const bool filtered : {false, true})
      for (const std::size_t limit : {1U, 20U, 200U}) {
        SCOPED_TRACE(fmt::format("{} {} {}", text, filtered, limit));
        const auto query = parse_query(text);
        const auto alone = index->prepare(query).best(filtered ? some : Filter(), limit, 0);
        ASSERT_EQ(alone.size(), limit);
        for (auto* pool : {&helping, &busy}) {
          auto searcher = index->prepare(query);
          Helper helper(*pool);
          // It need not come, but should have the time to.
          for (int i = 0; pool == &helping && !helper.present() && i < 1000; ++i)
            std::this_thread::yield();
          searcher.use(helper);
          const auto helped = searcher.best(filtered ? some : Filter(), limit, 0);
          ASSERT_EQ(keys(helped), keys(alone));
          for (std::size_t i = 0; i < limit; ++i) {
            EXPECT_EQ(helped[i].score, alone[i].score);
            EXPECT_EQ(helped[i].matched, alone[i].matched);
          }
          auto again = alone;
          for (auto& hit : again) hit.score = 0;
          searcher.score(again);
          for (std::size_t i = 0; i < limit; ++i) EXPECT_EQ(again[i].score, alone[i].score);
        }
      }
}

}  // namespace
}  // namespace reef::search::test
