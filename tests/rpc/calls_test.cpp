#include "rpc/calls.h"

#include <gtest/gtest.h>

#include "base/task_group.h"
#include "support/manual_clock.h"
#include "support/run.h"

namespace reef::rpc {
namespace {

using namespace std::chrono_literals;

class CallsTest : public testing::Test {
 protected:
  Message answer_to(json::value id) {
    Message out;
    out.kind = Message::Kind::answer;
    out.id = std::move(id);
    out.result = {{"a", 1}};
    return out;
  }

  boost::asio::io_context io_;
  test::ManualClock clock_{io_};
  Calls<> calls_{io_.get_executor()};
};

TEST_F(CallsTest, AnAnswerReachesItsCallOnceAndOnlyWhileItWaits) {
  const auto one = calls_.open({60s, 60s});
  const auto two = calls_.open({});
  EXPECT_NE(one->id(), two->id());
  EXPECT_TRUE(calls_.settle(answer_to(two->id())));
  EXPECT_FALSE(one->answered());
  const auto answer = test::run(io_, two->wait());
  ASSERT_TRUE(answer && answer->result);
  EXPECT_EQ(answer->result->at("a"), 1);
  EXPECT_FALSE(calls_.close(two->id())) << "nobody works on it any more";
  EXPECT_FALSE(calls_.settle(answer_to(two->id())));
  EXPECT_TRUE(calls_.close(one->id())) << "the other side is to be told";
  EXPECT_FALSE(calls_.close(one->id()));
  EXPECT_EQ(calls_.size(), 0U);
}

TEST_F(CallsTest, IdsThatAreNotOursAreNobodys) {
  const auto call = calls_.open({});
  for (const auto& id : {json::value("1"), json::value(1.0), json::value(~std::uint64_t{0}),
                         json::value(-1), json::value(nullptr)})
    EXPECT_FALSE(calls_.settle(answer_to(id)));
  EXPECT_FALSE(call->answered());
}

TEST_F(CallsTest, ACallEndsAtItsDeadlineButNotWhileItsClockStands) {
  const auto begin = clock_.steady();
  const auto call = calls_.open({5s, 60s});
  EXPECT_FALSE(clock_.run(call->wait()));
  EXPECT_EQ(clock_.steady() - begin, 5s);

  const auto asking = calls_.open({5s, 60s});
  bool paused = true;
  std::optional<std::optional<Outcome>> ended;
  TaskGroup tasks(io_.get_executor(), "test");
  tasks.spawn(test::store_result(asking->wait([&] { return paused; }), ended));
  clock_.advance(1h);
  EXPECT_FALSE(ended) << "its time stood still";
  paused = false;
  asking->resume();
  clock_.advance(4999ms);
  EXPECT_FALSE(ended) << "it has its time anew";
  clock_.advance(1ms);
  ASSERT_TRUE(ended);
  EXPECT_FALSE(*ended);
}

TEST_F(CallsTest, WithoutTheOtherSideAllCallsFail) {
  const auto call = calls_.open({});
  calls_.fail_all(Error(Errc::unavailable, "gone"));
  const auto answer = test::run(io_, call->wait());
  ASSERT_TRUE(answer && answer->failure);
  EXPECT_EQ(answer->failure->code, Errc::unavailable);
}

TEST_F(CallsTest, ProgressGivesNewTimeButNotBeyondTheLimitOfTheCall) {
  const auto call = calls_.open({5s, 12s});
  std::optional<std::optional<Outcome>> ended;
  TaskGroup tasks(io_.get_executor(), "test");
  tasks.spawn(test::store_result(call->wait(), ended));
  for (int i = 0; i < 2; ++i) {
    clock_.advance(4s);
    EXPECT_FALSE(ended);
    call->renew();
  }
  clock_.advance(3999ms);
  EXPECT_FALSE(ended);
  call->renew();  // beyond the limit, so this gives no time
  clock_.advance(1ms);
  ASSERT_TRUE(ended);
  EXPECT_FALSE(*ended);
}

}  // namespace
}  // namespace reef::rpc
