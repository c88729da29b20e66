// The events of one turn, kept while anybody reads them. The writer never waits: every reader has a
// place of its own and catches up at its own pace, and pieces of text nobody has read yet are
// joined, so a slow reader costs no more memory than the reply itself. Loop thread only.
#pragma once

#include <deque>
#include <optional>

#include "base/notify.h"
#include "base/result.h"
#include "base/task.h"
#include "runtime/event.h"

namespace reef::runtime {

class EventLog {
 public:
  explicit EventLog(Executor loop) : changed_(std::move(loop)) {}

  void push(Event event);
  // The turn is over; nothing follows.
  void close();
  // The turn never started; readers get this error instead of events.
  void fail(Error error);
  bool closed() const { return closed_; }

  // The event at `place`, which moves on; nullopt after the last. Waits for what is not there yet.
  Task<Result<std::optional<Event>>> next(std::size_t& place);

 private:
  std::deque<Event> events_;
  std::size_t read_ = 0;  // no event from here on has been read by anybody
  bool closed_ = false;
  std::optional<Error> error_;
  Notify changed_;
};

}  // namespace reef::runtime
