// The events of one turn, kept while anybody reads them. The writer never waits: every reader has a
// place of its own and catches up at its own pace. Pieces of text that follow each other are one
// growing event, so a turn costs the memory of its text, however it came. Loop thread only.
#pragma once

#include <deque>
#include <functional>
#include <optional>

#include "base/notify.h"
#include "base/result.h"
#include "base/task.h"
#include "runtime/event.h"

namespace reef::runtime {

class EventLog {
 public:
  // Where a reader is; starts at the beginning.
  struct Place {
    std::size_t event = 0;
    std::size_t byte = 0;  // within a piece of text
  };

  explicit EventLog(Executor loop) : changed_(std::move(loop)) {}

  // Told of every event as it is pushed, before any reader; must return at once.
  using Observer = std::function<void(const Event&)>;
  void observe(Observer observer) { observer_ = std::move(observer); }

  void push(Event event);
  // The turn is over; nothing follows.
  void close();
  // The turn never started; readers get this error instead of events.
  void fail(Error error);
  bool closed() const { return closed_; }

  // Whoever shows the turn to somebody says so while it does.
  void attach() { ++readers_; }
  void detach() { --readers_; }
  bool has_readers() const { return readers_ > 0; }

  // What follows `place`, which moves on; nullopt after the last. Waits for what is not there yet.
  Task<Result<std::optional<Event>>> next(Place& place);

 private:
  // What is there for this reader now.
  std::optional<Event> take(Place& place) const;

  std::deque<Event> events_;
  Observer observer_;
  int readers_ = 0;
  bool closed_ = false;
  std::optional<Error> error_;
  Notify changed_;
};

}  // namespace reef::runtime
