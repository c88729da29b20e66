#include "support/manual_clock.h"

namespace reef::test {
namespace {

constexpr int kMomentsMax = 10'000;

}  // namespace

ManualClock::ManualClock(boost::asio::io_context& io) : io_(io) {
  LoopTime::of(io.get_executor()).use(this);
}

ManualClock::~ManualClock() {
  LoopTime::of(io_.get_executor()).use(nullptr);
}

TimePoint ManualClock::now() const {
  return day_ + std::chrono::floor<std::chrono::milliseconds>(now_.time_since_epoch());
}

void ManualClock::set_time_of_day(TimePoint time) {
  day_ += time - now();
}

void ManualClock::add(Alarm& alarm) {
  alarms_.insert({alarm.when(), ++last_, &alarm});
}

void ManualClock::remove(Alarm& alarm) {
  std::erase_if(alarms_, [&](const Waiting& one) { return one.alarm == &alarm; });
}

std::optional<std::chrono::milliseconds> ManualClock::until_next() const {
  if (alarms_.empty()) return std::nullopt;
  return std::chrono::ceil<std::chrono::milliseconds>(alarms_.begin()->when - now_);
}

void ManualClock::advance_to(Moment target) {
  run_ready(io_);
  while (!alarms_.empty() && alarms_.begin()->when <= target) {
    now_ = std::max(now_, alarms_.begin()->when);
    // Alarms of one moment ring together; alarms they set for it ring after them.
    while (!alarms_.empty() && alarms_.begin()->when <= now_) alarms_.begin()->alarm->ring();
    run_ready(io_);
  }
  now_ = std::max(now_, target);
}

void ManualClock::advance(std::chrono::milliseconds time) {
  advance_to(now_ + time);
}

void ManualClock::run(Task<void> task) {
  std::exception_ptr failure;
  bool done = false;
  boost::asio::co_spawn(io_, std::move(task), [&](std::exception_ptr error) {
    failure = error;
    done = true;
  });
  const auto is_done = [&done] { return done; };
  run_ready(io_);
  for (int moments = 0; !is_done(); ++moments)
    if (moments == kMomentsMax || !advance_to_next())
      throw std::runtime_error("the task waits for what does not come");
  if (failure) std::rethrow_exception(failure);
}

bool ManualClock::advance_to_next() {
  run_ready(io_);
  if (alarms_.empty()) return false;
  advance_to(alarms_.begin()->when);
  return true;
}

}  // namespace reef::test
