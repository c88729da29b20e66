// Has the jobs said when they are due. Loop thread.
#pragma once

#include <functional>
#include <string>

#include "base/clock.h"
#include "base/notify.h"
#include "base/task_group.h"
#include "jobs.h"

namespace reef::cron {

std::time_t seconds_now(const Clock& clock);

class Timekeeper {
 public:
  // Says the message of a job; returns when that is over.
  using Say = std::function<Task<Status>(std::string name, Job job)>;
  Timekeeper(Executor loop, Clock& clock, Jobs& jobs, Say say);

  // Goes on until it is cancelled. What is being said ends with it.
  Task<void> keep_time();
  // Call it when a job was added.
  void look_again() { changed_.notify_all(); }

 private:
  Task<void> fire(std::string name);

  Clock& clock_;
  Jobs& jobs_;
  Say say_;
  Notify changed_;
  TaskGroup firing_;
};

}  // namespace reef::cron
