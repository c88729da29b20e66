#include "runtime/event_log.h"

#include <algorithm>

#include "base/assert.h"

namespace reef::runtime {
namespace {

constexpr std::size_t kJoinedBytesMax = 64U << 10;

// True when `next` was taken into `last`.
template <class Piece>
bool join(Event& last, Event& next) {
  auto* into = std::get_if<Piece>(&last);
  auto* piece = std::get_if<Piece>(&next);
  if (!into || !piece || into->text.size() + piece->text.size() > kJoinedBytesMax) return false;
  into->text += piece->text;
  return true;
}

}  // namespace

void EventLog::push(Event event) {
  REEF_ASSERT(!closed_);
  const bool unread = events_.size() > read_;
  if (unread && (join<Chunk>(events_.back(), event) || join<Thinking>(events_.back(), event)))
    return;
  events_.push_back(std::move(event));
  changed_.notify_all();
}

void EventLog::close() {
  closed_ = true;
  changed_.notify_all();
}

void EventLog::fail(Error error) {
  REEF_ASSERT(!closed_);
  error_ = std::move(error);
  close();
}

Task<Result<std::optional<Event>>> EventLog::next(std::size_t& place) {
  while (place >= events_.size() && !closed_) co_await changed_.wait();
  if (place < events_.size()) {
    auto event = events_[place++];
    read_ = std::max(read_, place);
    co_return std::optional<Event>(std::move(event));
  }
  if (error_) co_return *error_;
  co_return std::optional<Event>();
}

}  // namespace reef::runtime
