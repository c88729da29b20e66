// Several compactions of one session that are asked for at once: who shares, who comes after whom,
// and whose wishes count.
#include <gtest/gtest.h>

#include "runtime/window_stage.h"

namespace reef::runtime {
namespace {

class CompactionsTest : public WindowStage {
 protected:
  using Outcome = std::optional<Result<Compacted>>;

  // A talk that is long enough for two compactions, one after the other.
  void talk(int turns = 6) {
    set_up(100'000);
    model->words = std::string(2'000, 'w');
    for (int i = 0; i < turns; ++i) turn("and then? " + std::string(2'000, 'u'));
    model->hold_summaries = true;
  }
  Compactions::Request asking(std::optional<std::int64_t> keep, std::string instructions = {}) {
    auto out = request();
    out.keep = keep;
    out.instructions = std::move(instructions);
    return out;
  }
  Compactions::Request automatic() {
    auto out = request();
    out.automatic = true;
    out.keep = 1'000;
    return out;
  }
  void begin(Compactions::Request wanted, Outcome& outcome) {
    group.spawn(test::store_result(compactions.compact(std::move(wanted)), outcome));
  }
  void until(const std::function<bool()>& there) {
    test::run(io, [](const std::function<bool()>& done) -> Task<void> {
      while (!done()) co_await yield_to_loop();
    }(there));
  }
  void until_summarising(int summaries) {
    until([&] { return model->summaries >= summaries; });
  }
  // Whether the model was told so by its latest request for a summary.
  bool was_told(std::string_view words) const {
    for (auto request = model->requests.rbegin(); request != model->requests.rend(); ++request)
      if (request->system == context::summary_system())
        return session::text_of(*request->messages.at(0)).find(words) != std::string::npos;
    return false;
  }

  TaskGroup group{io.get_executor(), "test"};
};

TEST_F(CompactionsTest, OtherWishesComeAfterOneThatSomebodyAskedFor) {
  talk();
  Outcome first, second, same, none;
  begin(asking(2'000, "mind the tides"), first);
  until_summarising(1);
  EXPECT_TRUE(was_told("mind the tides"));
  begin(asking(0, "mind the moon"), second);
  begin(asking(2'000, "mind the tides"), same);
  begin(asking({}), none);
  test::run_ready(io);
  EXPECT_EQ(model->summaries, 1) << "one at a time";
  model->summary_words = "## Goal\nTides.";
  model->release();
  until([&] { return first && same && none; });
  ASSERT_TRUE(*first) << first->error().what;
  EXPECT_EQ((*first)->summary.find("## Goal\nTides."), 0U);
  EXPECT_EQ((*same)->archive, (*first)->archive) << "the same wishes are one compaction";
  EXPECT_EQ((*none)->archive, (*first)->archive) << "whoever wishes nothing is content with any";
  until([&] { return second.has_value(); });
  ASSERT_TRUE(*second) << second->error().what;
  EXPECT_NE((*second)->archive, (*first)->archive);
  EXPECT_TRUE(was_told("mind the moon"));
  EXPECT_TRUE(was_told("Tides.")) << "it brings the first summary up to date";
  EXPECT_EQ(entries_of("compaction"), 2U);
}

TEST_F(CompactionsTest, WishesTakeThePlaceOfOneThatNobodyAskedFor) {
  talk();
  Outcome policys, mine;
  begin(automatic(), policys);
  until_summarising(1);
  begin(asking(0, "mind the tides"), mine);
  until_summarising(2);
  EXPECT_TRUE(was_told("mind the tides"));
  EXPECT_TRUE(was_told("and then?")) << "its summary is made of the words, not of a summary";
  model->release();
  until([&] { return policys && mine; });
  ASSERT_TRUE(*mine) << mine->error().what;
  ASSERT_TRUE(*policys) << policys->error().what;
  EXPECT_EQ((*policys)->archive, (*mine)->archive) << "there is room, whoever made it";
  EXPECT_EQ(entries_of("compaction"), 1U);
}

TEST_F(CompactionsTest, ATurnThatNeedsRoomGetsThatOfSomebodysWishes) {
  talk();
  model->window = 5'000;
  model->words = "well";
  auto run = say("more");
  until_summarising(1);
  Outcome mine;
  begin(asking(0, "mind the tides"), mine);
  until_summarising(2);
  model->release();
  until([&] { return run->events().closed() && mine; });
  EXPECT_TRUE(*mine) << mine->error().what;
  const auto events = test::run(io, read(run));
  EXPECT_EQ(std::get<End>(events.back()).error, "");
  EXPECT_TRUE(std::get<End>(events.back()).compacted);
  EXPECT_EQ(entries_of("compaction"), 1U);
}

TEST_F(CompactionsTest, WhoeverAskedIsNotRefusedBecauseThePolicyIs) {
  talk(2);
  Outcome policys, mine;
  auto much = automatic();
  much.keep = 50'000;
  begin(std::move(much), policys);
  begin(asking({}), mine);
  until([&] { return policys.has_value(); });
  ASSERT_FALSE(*policys);
  EXPECT_EQ(policys->error().code, Errc::conflict);
  model->release();
  until([&] { return mine.has_value(); });
  EXPECT_TRUE(*mine) << "a person who asks for a compaction gets it: " << mine->error().what;
}

TEST_F(CompactionsTest, WhenNothingIsLeftTheOneThatCameLaterSaysWhy) {
  talk();
  Outcome first, second;
  begin(asking(0, "mind the tides"), first);
  until_summarising(1);
  begin(asking(0, "mind the moon"), second);
  test::run_ready(io);
  model->release();
  until([&] { return first && second; });
  EXPECT_TRUE(*first);
  ASSERT_FALSE(*second);
  EXPECT_EQ(second->error().code, Errc::conflict);
  EXPECT_EQ(second->error().what.find("after the compaction that was under way: there is nothing"),
            0U)
      << second->error().what;
}

TEST_F(CompactionsTest, FewWaitAndAllEndWithTheDaemon) {
  talk();
  std::deque<Outcome> all(12);
  for (std::size_t i = 0; i < all.size(); ++i) begin(asking({}, fmt::format("wish {}", i)), all[i]);
  until_summarising(1);
  test::run_ready(io);
  const auto refused =
      static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [](const Outcome& one) {
        return one && !*one && one->error().code == Errc::busy;
      }));
  EXPECT_EQ(refused, 3U) << "one is under way, eight wait";
  test::run(io, compactions.stop());
  until([&] { return std::all_of(all.begin(), all.end(), [](auto& one) { return one; }); });
  EXPECT_EQ(std::count_if(all.begin(), all.end(),
                          [](auto& one) { return one->error().code == Errc::cancelled; }),
            9);
  EXPECT_EQ(entries_of("compaction"), 0U);
}

TEST_F(CompactionsTest, OneThatIsCancelledLetsTheNextOneBegin) {
  talk();
  Outcome first, second;
  begin(asking(0, "mind the tides"), first);
  until_summarising(1);
  begin(asking(0, "mind the moon"), second);
  test::run_ready(io);
  compactions.cancel(id());
  until_summarising(2);
  EXPECT_TRUE(was_told("mind the moon"));
  model->release();
  until([&] { return first && second; });
  EXPECT_EQ(first->error().code, Errc::cancelled);
  EXPECT_TRUE(*second) << second->error().what;
}

}  // namespace
}  // namespace reef::runtime
