// What changed among the decisions, for readers that follow them and come back (base/change_log.h).
// Most changes are told by the decisions themselves. Those that happen to a session instead are
// noticed while somebody watches: it goes to the trash or comes back, another program writes to it,
// it gets another key, a decision there is overtaken or its time is up. Loop thread only.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/change_log.h"
#include "base/task_group.h"
#include "session/session.h"

namespace reef::runtime {

class Decisions;
struct Decision;

class DecisionChanges {
 public:
  // The arguments outlive it.
  DecisionChanges(Executor loop, session::Sessions& sessions, Decisions& decisions);

  // The keys are ids of decisions.
  ChangeLog& log() { return log_; }
  // Everything that happened so far is in the log when this returns; what happens while somebody
  // holds the token comes into it within a second.
  std::shared_ptr<void> watch();

  // Shutdown.
  Task<void> stop();

 private:
  // Rows say this of the decisions that wait in a session.
  struct Shown {
    std::string key, agent, sender;
    std::set<std::string> ids;
  };
  static Shown shown_in(const session::Row& row);

  void take(const Decision& decision);
  void look();
  void compare(const session::SessionId& id);
  Task<void> keep_watch();
  Task<void> close_over();

  session::Sessions& sessions_;
  Decisions& decisions_;
  ChangeLog log_;
  bool begun_ = false;
  std::uint64_t seen_ = 0;  // of the sessions' changes
  std::map<session::SessionId, Shown> shown_;
  std::set<session::SessionId> doubtful_;  // where a decision may be over by now
  std::set<std::string> expired_;          // decisions whose time is known to be up
  std::size_t watchers_ = 0;
  std::optional<TaskGroup::Id> watch_;
  TaskGroup tasks_;
};

}  // namespace reef::runtime
