#include "runtime/event_log.h"

#include <algorithm>

#include "base/assert.h"
#include "runtime/event_text.h"

namespace reef::runtime {
namespace {
// Limits for the progress of all tools of a turn together.
constexpr std::size_t kProgressBytesMax = 64U << 10;
constexpr std::size_t kProgressPiecesMax = 256;

// True when `next` was taken into `last`.
template <class Piece>
bool join(Event& last, const Event& next) {
  auto* into = std::get_if<Piece>(&last);
  const auto* piece = std::get_if<Piece>(&next);
  if (!into || !piece) return false;
  into->text += piece->text;
  return true;
}

}  // namespace

// Readers have passed the last event when a question behind it was withdrawn.
Event* EventLog::growing() {
  if (events_.empty() || events_.back().number + 1 != next_number_) return nullptr;
  return &events_.back().event;
}

void EventLog::add(Event event) {
  events_.push_back(Entry{next_number_++, std::move(event)});
}

void EventLog::push(Event event) {
  if (deaf_) return;
  REEF_ASSERT(!closed_);
  if (observer_) observer_(event);
  if (auto* piece = std::get_if<ToolProgress>(&event)) {
    push_progress(std::move(*piece));
  } else {
    auto* last = growing();
    const bool joined = last && (join<Chunk>(*last, event) || join<Thinking>(*last, event));
    if (!joined) add(std::move(event));
  }
  changed_.notify_all();
}

void EventLog::push_progress(ToolProgress piece) {
  progress_bytes_ += piece.text.size();
  auto* last = growing();
  auto* same = last ? std::get_if<ToolProgress>(last) : nullptr;
  if (same && same->call_id == piece.call_id) {
    same->text += piece.text;
  } else {
    progress_.push_back(next_number_);
    add(std::move(piece));
  }
  bound_progress();
}

void EventLog::bound_progress() {
  while (progress_.size() > 1 &&
         (progress_bytes_ > 2 * kProgressBytesMax || progress_.size() > kProgressPiecesMax)) {
    const auto oldest = find(progress_.front());
    progress_bytes_ -= std::get<ToolProgress>(oldest->event).text.size();
    events_.erase(oldest);
    progress_.pop_front();
  }
  if (progress_bytes_ <= 2 * kProgressBytesMax) return;
  auto& entry = *find(progress_.front());
  auto& text = std::get<ToolProgress>(entry.event).text;
  auto cut = text.size() - kProgressBytesMax;
  while (cut < text.size() && continues_a_character(text[cut])) ++cut;
  text.erase(0, cut);
  entry.cut += cut;
  progress_bytes_ -= cut;
}

std::deque<EventLog::Entry>::iterator EventLog::find(std::uint64_t number) {
  return std::partition_point(events_.begin(), events_.end(),
                              [&](const Entry& entry) { return entry.number < number; });
}

void EventLog::withdraw(const std::string& ask_id) {
  std::erase_if(events_, [&](const Entry& entry) {
    const auto* ask = std::get_if<AskUser>(&entry.event);
    return ask && ask->id == ask_id;
  });
}

void EventLog::close() {
  closed_ = true;
  changed_.notify_all();
}

void EventLog::fail(Error error) {
  if (deaf_) return;
  REEF_ASSERT(!closed_);
  error_ = std::move(error);
  close();
}

void EventLog::end_early(End end) {
  if (closed_) return;
  if (next_number_ == 0) {
    fail(Error(end.code, end.error));
  } else {
    push(std::move(end));
    close();
  }
  deaf_ = true;
}

void EventLog::go_on_in(std::shared_ptr<EventLog> other, Place place) {
  REEF_ASSERT(!closed_ && other.get() != this);
  other_ = std::move(other);
  in_other_ = std::move(place);
  other_->readers_ += readers_;
  close();
}

void EventLog::attach() {
  ++readers_;
  if (other_) other_->attach();
}

void EventLog::detach() {
  --readers_;
  if (other_) other_->detach();
}

std::optional<Event> EventLog::take(Place& place) const {
  auto entry = std::partition_point(events_.begin(), events_.end(), [&](const Entry& candidate) {
    return candidate.number < place.event;
  });
  for (; entry != events_.end(); ++entry) {
    if (entry->number != place.event) place.byte = 0;
    place.event = entry->number;
    const auto* text = text_in(entry->event);
    if (!text) {
      ++place.event;
      return entry->event;
    }
    place.byte = std::max(place.byte, entry->cut);
    const auto rest = std::string_view(*text).substr(place.byte - entry->cut);
    if (!rest.empty()) {
      const auto part = part_of(rest);
      place.byte += part.size();
      return with_text(entry->event, std::string(part));
    }
    // All of this event is read; the last one may still grow.
    if (entry->number + 1 == next_number_) return std::nullopt;
    ++place.event;
    place.byte = 0;
  }
  return std::nullopt;
}

Task<Result<std::optional<Event>>> EventLog::next(Place& place) {
  for (;;) {
    auto* log = place.elsewhere ? place.elsewhere.get() : this;
    if (auto event = log->take(place)) co_return event;
    if (log->closed_ && log->other_) {
      place = log->in_other_;
      place.elsewhere = log->other_;
      continue;
    }
    if (log->closed_) {
      if (log->error_) co_return *log->error_;
      co_return std::optional<Event>();
    }
    co_await log->changed_.wait();
  }
}

}  // namespace reef::runtime
