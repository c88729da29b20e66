#include "timekeeper.h"

#include <algorithm>

#include "base/log.h"

namespace reef::cron {
namespace {

// Somebody else may change the file (an import, an editor), or the clock.
constexpr std::chrono::seconds kLongestNap{2};
constexpr std::chrono::seconds kShortestNap{1};

}  // namespace

std::time_t seconds_now(const Clock& clock) {
  return std::chrono::system_clock::to_time_t(clock.now());
}

Timekeeper::Timekeeper(Executor loop, Clock& clock, Jobs& jobs, Say say)
    : clock_(clock), jobs_(jobs), say_(std::move(say)), changed_(loop), firing_(loop, "jobs") {}

Task<void> Timekeeper::fire(std::string name) {
  co_await yield_to_loop();
  const auto found = jobs_.all().find(name);
  if (found == jobs_.all().end()) co_return;
  const auto said = co_await say_(name, found->second);
  if (!said) log::warn("cron: job {}: {}", name, said.error().what);
  jobs_.note(name, said ? std::string() : said.error().what);
  if (said)
    if (const auto gone = jobs_.said(name); !gone)
      log::warn("cron: job {}: {}", name, gone.error().what);
}

Task<void> Timekeeper::keep_time() {
  for (;;) {
    const auto now = seconds_now(clock_);
    if (const auto looked = jobs_.look(now); !looked)
      log::warn("cron: {}; the jobs stay as they were", looked.error().what);
    for (auto& name : jobs_.take_due(now))
      if (!is_quiet(jobs_.all().at(name), now)) firing_.spawn(fire(std::move(name)));
    const auto next = jobs_.next();
    const auto nap = next ? std::chrono::seconds(*next - now) : kLongestNap;
    co_await changed_.wait_for(std::clamp(nap, kShortestNap, kLongestNap));
  }
}

}  // namespace reef::cron
