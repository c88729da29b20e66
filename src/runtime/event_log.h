// The events of one turn, kept while anybody reads them. The writer never waits: every reader has a
// place of its own and catches up at its own pace. Pieces of text that follow each other are one
// growing event, so a turn costs the memory of its text, however it came; of what tools say while
// they work only the last part is kept. Loop thread only.
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
  // Where a reader is; starts at the beginning.
  struct Place {
    std::uint64_t event = 0;
    std::uint64_t byte = 0;               // within a piece of text
    std::shared_ptr<EventLog> elsewhere;  // once the turn goes on in another's log
  };

  explicit EventLog(Executor loop) : changed_(std::move(loop)) {}

  // Told of every event as it is pushed, before any reader; must return at once.
  using Observer = std::function<void(const Event&)>;
  void observe(Observer observer) { observer_ = std::move(observer); }

  void push(Event event);
  // Takes a question back: it is no longer pending.
  void withdraw(const std::string& ask_id);
  // The turn is over; nothing follows.
  void close();
  // The turn never started; readers get this error instead of events.
  void fail(Error error);
  // The turn was cancelled, and something holds it up: it ends for its readers, or never started
  // when there is no event yet. What is pushed after that is not heard.
  void end_early(End end);
  // What follows is in another log, from `place` on: this message became part of that turn.
  void go_on_in(std::shared_ptr<EventLog> other, Place place);
  bool closed() const { return closed_; }
  // Behind the last event there is now.
  Place end() const { return Place{next_number_, 0, nullptr}; }

  // Whoever shows the turn to somebody says so while it does.
  void attach();
  void detach();
  bool has_readers() const { return readers_ > 0; }

  // What follows `place`, which moves on; nullopt after the last. Waits for what is not there yet.
  Task<Result<std::optional<Event>>> next(Place& place);

 private:
  struct Entry {
    std::uint64_t number;
    Event event;
    std::uint64_t cut = 0;  // bytes of the text that were given up, from its front
  };

  // What is there for this reader now.
  std::optional<Event> take(Place& place) const;
  void add(Event event);
  // The last event, which readers that have read all of it still wait at.
  Event* growing();
  void push_progress(ToolProgress piece);
  void bound_progress();
  std::deque<Entry>::iterator find(std::uint64_t number);

  std::deque<Entry> events_;  // by number; some are missing
  std::uint64_t next_number_ = 0;
  std::deque<std::uint64_t> progress_;  // the numbers of those
  std::size_t progress_bytes_ = 0;
  Observer observer_;
  int readers_ = 0;
  bool closed_ = false;
  bool deaf_ = false;  // it ended early
  std::optional<Error> error_;
  std::shared_ptr<EventLog> other_;
  Place in_other_;
  Notify changed_;
};

}  // namespace reef::runtime
