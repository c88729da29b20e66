#include "runtime/broadcast.h"

#include "base/overload.h"
#include "base/utf8.h"

namespace reef::runtime {
namespace {

// Limits the text that is joined into one event.
constexpr std::size_t kJoinedBytesMax = 16U << 10;
constexpr std::size_t kEventBytes = 256;  // about what an event costs beside its text

std::size_t bytes_of(const Event& event) {
  return kEventBytes + std::visit(Overload{
                                      [](const Chunk& e) { return e.text.size(); },
                                      [](const Thinking& e) { return e.text.size(); },
                                      [](const ToolStart& e) {
                                        std::size_t sum = 0;
                                        for (const auto& call : e.calls)
                                          sum += call.name.size() + call.arguments.size() +
                                                 call.id.size();
                                        return sum;
                                      },
                                      [](const ToolResult& e) { return e.output.size(); },
                                      [](const End& e) { return e.error.size(); },
                                      [](const auto&) { return std::size_t{0}; },
                                  },
                                  event);
}

// Copies an event for one queue. A tool's output is cut to one byte more than is shown, so that the
// reader can tell it was cut.
Event copied(const Event& event) {
  const auto* result = std::get_if<ToolResult>(&event);
  if (!result) return event;
  return ToolResult{result->call_id, result->output.substr(0, Subscription::kOutputBytesMax + 1),
                    result->duration, result->is_error};
}

template <class Piece>
bool join(Event& last, const Event& next) {
  auto* into = std::get_if<Piece>(&last);
  const auto* piece = std::get_if<Piece>(&next);
  if (!into || !piece || into->text.size() + piece->text.size() > kJoinedBytesMax) return false;
  into->text += piece->text;
  return true;
}

}  // namespace

void Subscription::take(const Scene& scene, const Event& event, TimePoint time) {
  if (filter_ && !filter_(scene, event)) return;
  if (!queue_.empty()) {
    auto& last = queue_.back();
    const auto& there = last.happening.scene;
    if (there.session == scene.session && there.agent == scene.agent &&
        (join<Chunk>(last.happening.event, event) || join<Thinking>(last.happening.event, event))) {
      const auto bytes = bytes_of(last.happening.event);
      bytes_ += bytes - last.bytes;
      last.bytes = bytes;
      return;
    }
  }
  Queued queued{Happening{scene, copied(event), time}, 0};
  queued.bytes = bytes_of(queued.happening.event);
  bytes_ += queued.bytes;
  queue_.push_back(std::move(queued));
  // Drop the oldest: the next event that is read says how many. The newest always stays.
  while (queue_.size() > 1 && (queue_.size() > kEventsMax || bytes_ > kBytesMax)) {
    bytes_ -= queue_.front().bytes;
    queue_.pop_front();
    ++missed_;
  }
  changed_.notify_all();
}

Task<Happening> Subscription::next() {
  while (queue_.empty()) co_await changed_.wait();
  auto out = std::move(queue_.front().happening);
  bytes_ -= queue_.front().bytes;
  queue_.pop_front();
  out.missed = std::exchange(missed_, 0);
  co_return out;
}

std::shared_ptr<Subscription> Broadcast::subscribe(Subscription::Filter filter) {
  auto subscription = std::make_shared<Subscription>(loop_, std::move(filter));
  subscriptions_.push_back(subscription);
  return subscription;
}

void Broadcast::publish(const Scene& scene, const Event& event, TimePoint time) {
  if (listener_) listener_(scene, event);
  for (auto it = subscriptions_.begin(); it != subscriptions_.end();) {
    if (const auto subscription = it->lock()) {
      subscription->take(scene, event, time);
      ++it;
    } else {
      it = subscriptions_.erase(it);
    }
  }
}

}  // namespace reef::runtime
