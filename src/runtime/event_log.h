// The events of one turn, kept while anybody reads them. The writer never waits: every reader has a
// place of its own and catches up at its own pace. Consecutive pieces of text are one growing
// event, so a turn costs only the memory of its text; the progress that tools report is kept only
// in its last part. Loop thread only.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>

#include "base/notify.h"
#include "base/result.h"
#include "base/task.h"
#include "runtime/event.h"

namespace reef::runtime {

class EventLog {
 public:
  // A reader's position; starts at the beginning.
  struct Place {
    std::uint64_t event = 0;
    std::uint64_t byte = 0;               // within a piece of text
    std::shared_ptr<EventLog> elsewhere;  // set once the turn goes on in another log
  };

  explicit EventLog(Executor loop) : changed_(std::move(loop)) {}

  // Called with every event as it is pushed, before any reader gets it; must return at once.
  using Observer = std::function<void(const Event&)>;
  void observe(Observer observer) { observer_ = std::move(observer); }

  void push(Event event);
  // Withdraws a question that is no longer pending.
  void withdraw(const std::string& ask_id);
  // The turn is over; nothing follows.
  void close();
  // The turn never started; readers get this error instead of events.
  void fail(Error error);
  // Ends a cancelled turn for its readers while something still holds it up. Without any event yet,
  // the turn never started. Later pushes are ignored.
  void end_early(End end);
  // The events from `place` on are in another log: this message became part of that turn.
  void go_on_in(std::shared_ptr<EventLog> other, Place place);
  bool closed() const { return closed_; }
  // The place behind the last event so far.
  Place end() const { return Place{next_number_, 0, nullptr}; }

  // attach() and detach() enclose the time in which the turn is shown to somebody.
  void attach();
  void detach();
  bool has_readers() const { return readers_ > 0; }

  // Returns the event at `place`, which moves on; nullopt after the last. Waits for events to come.
  Task<Result<std::optional<Event>>> next(Place& place);

 private:
  struct Entry {
    std::uint64_t number;
    Event event;
    std::uint64_t cut = 0;  // bytes given up at the front of the text
  };

  // Returns what this reader can have now.
  std::optional<Event> take(Place& place) const;
  void add(Event event);
  // The last event, if readers that have read all of it still wait at it.
  Event* growing();
  void push_progress(ToolProgress piece);
  void bound_progress();
  std::deque<Entry>::iterator find(std::uint64_t number);

  std::deque<Entry> events_;  // sorted by number, with gaps
  std::uint64_t next_number_ = 0;
  std::deque<std::uint64_t> progress_;  // numbers of the progress events
  std::size_t progress_bytes_ = 0;
  Observer observer_;
  int readers_ = 0;
  bool closed_ = false;
  bool deaf_ = false;  // set by end_early()
  std::optional<Error> error_;
  std::shared_ptr<EventLog> other_;
  Place in_other_;
  Notify changed_;
};

}  // namespace reef::runtime
