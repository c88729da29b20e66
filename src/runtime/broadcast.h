// The events of all turns, for whoever subscribes. A turn never waits for a subscriber: each has a
// bounded queue of its own, and what it was too slow for is counted and told with the next event it
// gets. Loop thread only.
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

// What led to a turn beside a user's words.
struct Lineage {
  int events = 0;           // one after the other
  int delegations = 0;      // one within the other
  std::string parent = {};  // the key of the conversation that delegated it
};

// Where an event happened.
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
  // Longer outputs of tools are cut.
  static constexpr std::size_t kOutputBytesMax = 2048;

  // Empty: every event.
  using Filter = std::function<bool(const Scene&, const Event&)>;

  Subscription(Executor loop, Filter filter) : filter_(std::move(filter)), changed_(loop) {}

  // Waits for the next event. Pieces of text that follow each other may come as one.
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

  // Ends when the last reference is gone.
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
