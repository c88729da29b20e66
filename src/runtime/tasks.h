// Everything that runs: turns, tools, delegated work, imports, compactions, work on the index. The
// code that does the work enters it here; others list it, watch it and ask for its end. Loop
// thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/change_log.h"
#include "base/clock.h"
#include "base/notify.h"
#include "base/result.h"

namespace reef::runtime {

struct TaskInfo {
  enum class State : std::uint8_t { running, done, failed, cancelled };

  std::string kind;  // turn, delegate, tool, import, compaction, index
  std::string what;  // in words
  std::string agent = {}, sender = {}, session = {};
  std::string parent = {};  // id of the task it belongs to
  std::string id = {};      // set when the task is entered, like all below
  TimePoint started = {};
  double progress = -1;     // 0 to 1; below 0: not known
  std::string detail = {};  // how far it is, in words
  bool can_cancel = false;
  State state = State::running;
};
std::string_view name_of(TaskInfo::State state);

struct TaskChange {
  TaskInfo task;
  std::uint64_t missed = 0;  // changes before this one that were dropped
};

// The changes one reader has not read yet; for a running task only the last state.
class TaskWatch {
 public:
  static constexpr std::size_t kChangesMax = 1024;

  explicit TaskWatch(Executor loop) : changed_(std::move(loop)) {}
  Task<TaskChange> next();

 private:
  friend class Tasks;
  void take(const TaskInfo& task);

  std::deque<TaskInfo> queue_;
  std::uint64_t missed_ = 0;
  Notify changed_;
};

class Tasks {
 public:
  static constexpr std::size_t kDetailBytesMax = 200;

  // The tasks that ended last are remembered, for readers that were away.
  static constexpr std::size_t kEndedMax = 1024;

  Tasks(Executor loop, Clock& clock) : loop_(loop), clock_(clock), changes_(std::move(loop)) {}

  // A task is listed until its entry ends. An entry that is destroyed before that has failed. Must
  // not outlive the Tasks.
  class Entry {
   public:
    Entry(Tasks& tasks, std::string id) : tasks_(&tasks), id_(std::move(id)) {}
    ~Entry() { end(TaskInfo::State::failed); }
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

    const std::string& id() const { return id_; }
    void update(double progress, std::string_view detail);
    void end(TaskInfo::State state);

   private:
    Tasks* tasks_;
    std::string id_;
  };
  // `cancel` asks for the task's end and returns at once; without it the task cannot be cancelled.
  std::unique_ptr<Entry> begin(TaskInfo info, std::function<void()> cancel = {});

  // In the order they began; valid until the next suspension.
  std::vector<const TaskInfo*> list() const;
  // not_found when the task is over, unsupported when it cannot be cancelled.
  Status cancel(const std::string& id);
  // One that runs, or ended not long ago; nullptr for others. Valid until the next suspension.
  const TaskInfo* find(const std::string& id) const;
  // The keys are ids.
  ChangeLog& changes() { return changes_; }
  // Reports all tasks that run now, then every change.
  std::shared_ptr<TaskWatch> watch();

 private:
  struct Running {
    TaskInfo info;
    std::function<void()> cancel;
  };
  void tell(const TaskInfo& task);
  void remember(std::uint64_t number, TaskInfo info);

  Executor loop_;
  Clock& clock_;
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, Running> running_;
  std::map<std::uint64_t, TaskInfo> ended_;  // by number
  std::deque<std::uint64_t> ended_order_;    // oldest first
  ChangeLog changes_;
  std::list<std::weak_ptr<TaskWatch>> watches_;
};

}  // namespace reef::runtime
