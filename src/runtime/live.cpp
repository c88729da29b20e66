#include "runtime/live.h"

#include <algorithm>

#include "base/assert.h"
#include "base/overload.h"
#include "base/utf8.h"
#include "runtime/event_text.h"

namespace reef::runtime {
namespace {

constexpr std::size_t kItemBytes = 64;  // about what one costs beside its text

// nullptr where it does not grow.
const std::string* text_in(const LiveTurn::Piece& piece) {
  const auto* event = std::get_if<Event>(&piece);
  return event ? text_in(*event) : nullptr;
}

std::string* text_in(LiveTurn::Piece& piece) {
  auto* event = std::get_if<Event>(&piece);
  return event ? text_in(*event) : nullptr;
}

// Beside its text, where that may grow.
std::size_t bytes_beside_text(const LiveTurn::Piece& piece) {
  const auto* event = std::get_if<Event>(&piece);
  if (!event) return kItemBytes;
  return kItemBytes + std::visit(Overload{
                                     [](const ToolStart& e) {
                                       std::size_t sum = 0;
                                       for (const auto& call : e.calls)
                                         sum += kItemBytes + call.id.size() + call.name.size() +
                                                call.arguments.size();
                                       return sum;
                                     },
                                     [](const ToolResult& e) { return e.output.size(); },
                                     [](const End& e) { return e.error.size(); },
                                     [](const UserSteered& e) { return e.content.size(); },
                                     [](const auto&) { return std::size_t{0}; },
                                 },
                                 *event);
}

// Whether `next` says on what `last` says.
bool joins(const Event& last, const Event& next) {
  if (last.index() != next.index()) return false;
  const auto* progress = std::get_if<ToolProgress>(&last);
  return !progress || progress->call_id == std::get<ToolProgress>(next).call_id;
}

// As it is kept here.
Event shortened(const Event& event) {
  if (const auto* result = std::get_if<ToolResult>(&event))
    return ToolResult{result->call_id,
                      std::string(utf8::prefix(result->output, LiveTurn::kOutputBytesMax)),
                      result->duration, result->is_error};
  if (const auto* steered = std::get_if<UserSteered>(&event))
    return UserSteered{std::string(utf8::prefix(steered->content, LiveTurn::kArgumentsBytesMax))};
  auto out = event;
  if (auto* start = std::get_if<ToolStart>(&out))
    for (auto& call : start->calls)
      if (call.arguments.size() > LiveTurn::kArgumentsBytesMax) call.arguments.clear();
  return out;
}

}  // namespace

void LiveTurn::add(Piece piece) {
  bytes_ += bytes_beside_text(piece);
  if (const auto* text = text_in(std::as_const(piece))) bytes_ += text->size();
  items_.push_back(Item{next_++, std::move(piece)});
  bound();
}

void LiveTurn::take(const Event& event) {
  auto* last = items_.empty() ? nullptr : std::get_if<Event>(&items_.back().piece);
  const auto* more = text_in(event);
  if (last && more && joins(*last, event)) {
    *text_in(items_.back().piece) += *more;
    bytes_ += more->size();
    bound();
    return;
  }
  add(shortened(event));
}

void LiveTurn::keep(std::uint64_t bytes, bool replaces) {
  if (!replaces && !items_.empty()) {
    if (auto* last = std::get_if<Kept>(&items_.back().piece); last && !last->replaces) {
      last->bytes = bytes;
      return;
    }
  }
  if (replaces) {
    if (mark_) drop_up_to(*mark_);
    mark_ = next_;
    base_ = bytes;
    given_up_ = 0;
  }
  add(Kept{bytes, replaces});
}

void LiveTurn::end(const End& event, std::uint64_t bytes) {
  const bool all_kept = std::none_of(items_.begin(), items_.end(), [this](const Item& item) {
    return text_in(item.piece) && (!mark_ || item.number > *mark_);
  });
  if (!all_kept) keep(bytes, true);
  take(event);
  if (bytes_ > kEndedBytesMax && mark_) drop_up_to(*mark_);
}

bool LiveTurn::has(const Place& place) const {
  if (place.item > next_) return false;
  if (place >= cut_) {
    if (place.item == next_) return place.byte == 0;
    const auto& item = items_[place.item - items_.front().number];
    const auto* text = text_in(item.piece);
    return text ? place.byte <= item.cut + text->size() : place.byte == 0;
  }
  // All that is gone is among the entries: the mark is what such a reader needs.
  return mark_.has_value();
}

std::optional<LiveTurn::Piece> LiveTurn::next(Place& place) const {
  REEF_ASSERT(has(place));
  if (place < cut_) place = begin();
  while (place.item < next_) {
    const auto& item = items_[place.item - items_.front().number];
    const auto* text = text_in(item.piece);
    if (!text) {
      place = Place{place.item + 1, 0};
      return item.piece;
    }
    const auto rest = std::string_view(*text).substr(place.byte - item.cut);
    if (!rest.empty()) {
      const auto part = part_of(rest);
      place.byte += part.size();
      return with_text(std::get<Event>(item.piece), std::string(part));
    }
    // All of it is read; the last one may still grow.
    if (place.item + 1 == next_) return std::nullopt;
    place = Place{place.item + 1, 0};
  }
  return std::nullopt;
}

void LiveTurn::drop_front() {
  auto& front = items_.front();
  bytes_ -= bytes_beside_text(front.piece);
  if (const auto* text = text_in(std::as_const(front.piece))) {
    bytes_ -= text->size();
    if (!mark_) given_up_ += text->size();
  } else if (const auto* kept = std::get_if<Kept>(&front.piece)) {
    base_ = std::max(base_, kept->bytes);
  }
  if (mark_ == front.number) mark_.reset();
  items_.pop_front();
  cut_ = Place{next_ - items_.size(), 0};
}

void LiveTurn::drop_up_to(std::uint64_t number) {
  while (!items_.empty() && items_.front().number < number) drop_front();
}

void LiveTurn::bound() {
  if (bytes_ <= 2 * kBytesMax && items_.size() <= kItemsMax) return;
  while (items_.size() > 1 && (bytes_ > kBytesMax || items_.size() > kItemsMax)) {
    const auto* text = text_in(std::as_const(items_.front().piece));
    // Rather a part of it than all.
    if (text && items_.size() <= kItemsMax && bytes_ - text->size() < kBytesMax) break;
    drop_front();
  }
  auto* text = text_in(items_.front().piece);
  if (!text || bytes_ <= kBytesMax) return;
  auto cut = std::min(bytes_ - kBytesMax, text->size());
  while (cut < text->size() && continues_a_character((*text)[cut])) ++cut;
  text->erase(0, cut);
  items_.front().cut += cut;
  if (!mark_) given_up_ += cut;
  bytes_ -= cut;
  cut_ = Place{items_.front().number, items_.front().cut};
}

Live::Live(session::Sessions& sessions, Broadcast& broadcast)
    : sessions_(sessions), broadcast_(broadcast) {
  broadcast_.set_listener([this](const Scene& scene, const Event& event) { take(scene, event); });
  sessions_.set_on_appended([this](const session::SessionId& id,
                                   const std::vector<session::Entry>& entries,
                                   std::uint64_t bytes) { keep(id, entries, bytes); });
}

Live::~Live() {
  broadcast_.set_listener({});
  sessions_.set_on_appended({});
}

const LiveTurn* Live::find(const session::SessionId& session) const {
  const auto found = turns_.find(session.text());
  return found == turns_.end() ? nullptr : &found->second;
}

void Live::take(const Scene& scene, const Event& event) {
  // Nothing of an ephemeral turn is kept, and a compaction is no part of a turn.
  if (scene.ephemeral || std::holds_alternative<ContextCompacted>(event)) return;
  // A client's own tools are that client's business.
  if (std::holds_alternative<ToolForward>(event)) return;
  const auto id = session::SessionId::parse(scene.session);
  const auto* row = id ? sessions_.find(*id) : nullptr;
  if (!row) return;
  if (std::holds_alternative<Start>(event)) {
    turns_.erase(scene.session);
    turns_.emplace(scene.session, LiveTurn(++last_, row->bytes));
  }
  const auto found = turns_.find(scene.session);
  if (found == turns_.end()) return;
  auto& turn = found->second;
  if (const auto* end = std::get_if<End>(&event); !end) {
    turn.take(event);
  } else {
    turn.end(*end, row->bytes);
    ended_.emplace_back(scene.session, turn.number());
    if (ended_.size() > kEndedMax) {
      const auto oldest = turns_.find(ended_.front().first);
      if (oldest != turns_.end() && oldest->second.number() == ended_.front().second)
        turns_.erase(oldest);
      ended_.pop_front();
    }
  }
  sessions_.changes().ring(scene.session);
}

void Live::keep(const session::SessionId& session, const std::vector<session::Entry>& entries,
                std::uint64_t bytes) {
  const auto found = turns_.find(session.text());
  if (found == turns_.end()) return;
  const bool replaces = std::any_of(entries.begin(), entries.end(), [](const auto& entry) {
    const auto* message = json::find_object(entry.body, "message");
    return entry.type == "message" && message && json::find_string(*message, "role") == "assistant";
  });
  found->second.keep(bytes, replaces);
}

}  // namespace reef::runtime
