#include "runtime/event_log.h"

#include "base/assert.h"
#include "base/utf8.h"

namespace reef::runtime {
namespace {

// The most text a reader is given at once.
constexpr std::size_t kPieceBytesMax = 64U << 10;

// True when `next` was taken into `last`.
template <class Piece>
bool join(Event& last, const Event& next) {
  auto* into = std::get_if<Piece>(&last);
  const auto* piece = std::get_if<Piece>(&next);
  if (!into || !piece) return false;
  into->text += piece->text;
  return true;
}

// The unread part of a piece of text; nullopt when all of it has been read.
template <class Piece>
std::optional<Event> rest_of(const Event& event, EventLog::Place& place) {
  const auto& text = std::get<Piece>(event).text;
  const auto rest = std::string_view(text).substr(place.byte);
  if (rest.empty()) return std::nullopt;
  auto part = utf8::prefix(rest, kPieceBytesMax);
  if (part.empty()) part = rest.substr(0, kPieceBytesMax);
  place.byte += part.size();
  return Piece{std::string(part)};
}

}  // namespace

void EventLog::push(Event event) {
  REEF_ASSERT(!closed_);
  if (observer_) observer_(event);
  const bool joined = !events_.empty() &&
                      (join<Chunk>(events_.back(), event) || join<Thinking>(events_.back(), event));
  if (!joined) events_.push_back(std::move(event));
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

std::optional<Event> EventLog::take(Place& place) const {
  while (place.event < events_.size()) {
    const auto& event = events_[place.event];
    const bool chunk = std::holds_alternative<Chunk>(event);
    if (chunk || std::holds_alternative<Thinking>(event)) {
      auto part = chunk ? rest_of<Chunk>(event, place) : rest_of<Thinking>(event, place);
      if (part) return part;
      // All of it is read; the last one may still grow.
      if (place.event + 1 == events_.size()) return std::nullopt;
      place = Place{place.event + 1, 0};
      continue;
    }
    place = Place{place.event + 1, 0};
    return event;
  }
  return std::nullopt;
}

Task<Result<std::optional<Event>>> EventLog::next(Place& place) {
  for (;;) {
    if (auto event = take(place)) co_return event;
    if (closed_) break;
    co_await changed_.wait();
  }
  if (error_) co_return *error_;
  co_return std::optional<Event>();
}

}  // namespace reef::runtime
