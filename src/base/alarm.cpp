#include "base/alarm.h"

namespace reef {

Alarm::Alarm(const Executor& loop) : time_(LoopTime::of(loop)), timer_(loop) {}

Alarm::~Alarm() {
  leave_source();
}

void Alarm::set(Moment when) {
  leave_source();
  called_.reset();
  rang_ = false;
  when_ = when;
  if (auto* source = time_.source()) {
    // The loop still has something to wait for, so it does not run dry.
    timer_.expires_at(Moment::max());
    if (when <= source->steady()) {
      timer_.expires_at(Moment::min());
    } else {
      source->add(*this);
      waits_for_source_ = true;
    }
  } else {
    timer_.expires_at(when);
  }
}

void Alarm::set_after(std::chrono::steady_clock::duration duration) {
  const auto now = time_.now();
  set(duration < Moment::max() - now ? now + duration : Moment::max());
}

void Alarm::cancel() {
  leave_source();
  called_.reset();
  timer_.cancel();
}

void Alarm::call(std::function<void()> then) {
  called_ = std::make_shared<bool>(false);
  timer_.async_wait([called = called_, then = std::move(then)](boost::system::error_code failed) {
    if (!failed || *called) then();
  });
}

void Alarm::ring() {
  leave_source();
  rang_ = true;
  if (called_) *called_ = true;
  timer_.cancel();
}

void Alarm::leave_source() {
  const bool waited = std::exchange(waits_for_source_, false);
  if (auto* source = time_.source(); waited && source) source->remove(*this);
}

}  // namespace reef
