// Sends the events of all turns to subscribers. A turn never waits for a subscriber: each has a
// bounded queue of its own, and the next event it gets says how many it was too slow for. Loop
// thread only.
#pragma once

#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/notify.h"
#include "runtime/event.h"

namespace reef::runtime {

// The events and delegations that led to a turn.
struct Lineage {
  int events = 0;           // length of the chain of events
  int delegations = 0;      // depth of the delegation
  std::string parent = {};  // the key of the conversation that delegated it
};

// The scene of an event.
struct Scene {
  std::string agent;  // who speaks
  std::string sender;
  std::string key;         // of the conversation
  std::string session;     // id
  bool guest = false;      // the agent is a guest there
  bool ephemeral = false;  // nothing of it is kept
  Lineage lineage = {};
};

struct Happening {
  Scene scene;
  Event event;
  TimePoint time;
  std::uint64_t missed = 0;  // events before this one that were dropped
};

class Subscription {
 public:
  static constexpr std::size_t kEventsMax = 1024;
  static constexpr std::size_t kBytesMax = 1U << 20;
  // Longer tool outputs are cut.
  static constexpr std::size_t kOutputBytesMax = 2048;

  // An empty filter passes every event.
  using Filter = std::function<bool(const Scene&, const Event&)>;

  Subscription(Executor loop, Filter filter) : filter_(std::move(filter)), changed_(loop) {}

  // Waits for the next event. Consecutive pieces of text may be joined into one event.
  Task<Happening> next();

 private:
  friend class Broadcast;
  void take(const Scene& scene, const Event& event, TimePoint time);

  struct Queued {
    Happening happening;
    std::size_t bytes = 0;
  };
  Filter filter_;
  std::deque<Queued> queue_;
  std::size_t bytes_ = 0;
  std::uint64_t missed_ = 0;
  Notify changed_;
};

class Broadcast {
 public:
  explicit Broadcast(Executor loop) : loop_(std::move(loop)) {}

  // The subscription ends when the last reference is gone.
  std::shared_ptr<Subscription> subscribe(Subscription::Filter filter);
  void publish(const Scene& scene, const Event& event, TimePoint time);
  std::size_t subscribers() const { return subscriptions_.size(); }
  // Hears every event in the middle of its publishing, and keeps what it needs; at most one. Must
  // return at once.
  using Listener = std::function<void(const Scene&, const Event&)>;
  void set_listener(Listener listener) { listener_ = std::move(listener); }
  bool is_heard() const { return listener_ || !subscriptions_.empty(); }

 private:
  Executor loop_;
  Listener listener_;
  std::list<std::weak_ptr<Subscription>> subscriptions_;
};

}  // namespace reef::runtime
