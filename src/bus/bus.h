// Table of contents of bus/, and the bus: named events start the agents that subscribe to them
// (docs/events.md). It stands above the runtime, which knows nothing of it: to the runtime an event
// is a message like any other. Loop thread.
//
//   source.h              check_source, matches   names of events, and patterns
//   subscriptions_file.h  Subscription            events/subscriptions.toml
//   done_hook.h           DoneHook                publishes the end of turns as events
//   bus.h                 Bus                     this file
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "base/notify.h"
#include "base/pool.h"
#include "base/task_group.h"
#include "bus/subscriptions_file.h"
#include "runtime/runtime.h"
#include "session/documents.h"

namespace reef::bus {

struct Limits {
  int depth_max = 8;             // length of a chain of events
  std::size_t fan_out_max = 32;  // turns that one event starts
  std::size_t turns_max = 256;   // turns started by events that run or wait
  std::size_t payload_bytes_max = 64U << 10;
};

struct Event {
  std::string source;
  std::string payload;
  int depth = 1;  // length of the chain of events that led to it, counting itself
};

class Bus {
 public:
  // All outlive it.
  Bus(Executor loop, session::Documents& documents, Pool& pool, runtime::Runtime& runtime);

  void configure(Limits limits) { limits_ = limits; }
  const Limits& limits() const { return limits_; }

  // Takes what somebody wrote into the file; called at start and at a reload. When the file cannot
  // be read, the subscriptions in force stay, and changes are refused until it is put right.
  Task<Status> load();
  const std::string& problem() const { return broken_; }
  // Stops waiting for turns and makes the last save.
  Task<void> stop();

  // Durable when it returns. Returns the subscription that exists already when it says the same.
  // not_found: no such agent.
  Task<Result<Subscription>> subscribe(std::string source, std::string target_agent, bool once);
  Task<Status> unsubscribe(std::uint64_t id);
  // Gives an agent another name in targets and in sources (agent:NAME:...). Durable when it
  // returns, and may be done twice; on an error everything is as it was. Returns the changed
  // subscriptions as they were, for put_back().
  Task<Result<std::vector<Subscription>>> rename_agent(std::string from, std::string to);
  Task<Status> put_back(std::vector<Subscription> before);
  const std::vector<Subscription>& list() const { return known_.list; }
  // Whether an event would start any agent.
  bool is_awaited(std::string_view source) const;

  // Starts the agents that subscribed; turns beyond a limit are dropped, counted and logged.
  // invalid and too_large are about the event itself.
  Status publish(Event event);
  // Sends a message that an event brings into an existing conversation. The same limits hold; busy
  // when it was dropped.
  Status deliver(runtime::Message message, int depth);

  // Counted since the daemon started.
  std::uint64_t published() const { return published_; }
  std::uint64_t dropped() const { return dropped_; }

 private:
  Status start(runtime::Message message, int depth);
  Task<void> wait_for_end(std::shared_ptr<runtime::Run> run);
  // Saves run one at a time, and each writes the state at its turn. Edits that somebody made to the
  // file meanwhile are taken first.
  Task<Status> save();
  // Held by the one task that may read or write the file.
  class FileTurn {
   public:
    explicit FileTurn(Bus& bus) : bus_(bus) {}
    ~FileTurn();
    FileTurn(const FileTurn&) = delete;
    FileTurn& operator=(const FileTurn&) = delete;

   private:
    Bus& bus_;
  };
  Task<std::unique_ptr<FileTurn>> wait_for_file();
  struct Read {
    std::string text;  // "" when there is no file
    std::optional<session::Version> version;
  };
  Result<Read> read_file() const;
  Status take(std::string text);
  Task<Result<Subscription>> subscribe_unshielded(std::string source, std::string target_agent,
                                                  bool once);
  Task<Status> unsubscribe_unshielded(std::uint64_t id);
  Task<Result<std::vector<Subscription>>> rename_unshielded(std::string from, std::string to);
  Task<Status> replace(std::vector<Subscription> by);
  Task<void> save_later();

  Executor loop_;
  session::Documents& documents_;
  Pool& pool_;
  runtime::Runtime& runtime_;
  Limits limits_;
  Subscriptions known_;
  std::string seen_;   // the file as it was last read or written
  std::string tried_;  // the text last written; may be in the file although the write failed
  std::vector<Subscription> base_;  // the subscriptions in seen_
  std::string broken_;              // why the file cannot be used
  std::uint64_t published_ = 0;
  std::uint64_t dropped_ = 0;
  std::size_t turns_ = 0;
  std::set<std::uint64_t> unsaved_;  // not durable yet, so nobody is told of them
  bool saving_ = false;
  bool save_planned_ = false;
  Notify saved_;
  TaskGroup turns_group_;
  TaskGroup saves_;
};

}  // namespace reef::bus
