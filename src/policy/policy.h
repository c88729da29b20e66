// Table of contents of policy/: decides at the edge what happens by itself. It is a client of the
// daemon like any other: it hears of turns that ended and asks for what its rules say, through
// public operations only. The daemon runs one in its own process; `reef policy run` runs the same
// elsewhere.
//
//   rules.h    Rules     what it is told to do
//   decide.h   decide    what the rules decide for a session, and why
//   survey.h   survey    what the daemon knows about a session
//   reminder.h reminder_for  what is remembered that fits a person's words
//   policy.h   Policy    this file
//
// It keeps no state: everything it must know is in the transcripts, so a restart is harmless.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "base/clock.h"
#include "base/notify.h"
#include "base/task_group.h"
#include "client/client.h"
#include "policy/rules.h"
#include "policy/survey.h"

namespace reef::policy {

// Loop thread only.
class Policy {
 public:
  // `rules` returns the node's rules and is called at every decision.
  Policy(Executor loop, Clock& clock, client::Endpoint endpoint, std::function<Rules()> rules);

  // Begins to listen. Connects by itself, and again whenever the daemon was away.
  void start();
  // Returns when nothing of it runs any more. A compaction it asked for continues in the daemon.
  Task<void> stop();

 private:
  // The result of the last look at a session; most turns need no new look.
  struct Seen {
    Moment when;
    std::int64_t quiet_below = 0;  // tokens; with fewer there is nothing to do
    std::int64_t refused_at = 0;
  };

  Task<void> watch();
  Task<Status> listen();
  Task<void> take(protocol::AgentEvent event);
  void want(const std::string& session);
  // Looks at a session until nothing is left to do there.
  Task<void> attend(std::string session);
  Task<Status> look(std::string session);
  Task<Status> title(const Survey& survey, std::string why);
  Task<Status> flush(const Survey& survey, std::string why);
  Task<Status> compact(const Survey& survey, std::string why);
  Task<void> tidy();
  Task<Status> archive_stale(std::int64_t days);

  Executor loop_;
  Clock& clock_;
  std::function<Rules()> rules_;
  client::Client client_;
  std::map<std::string, Seen, std::less<>> seen_;
  std::set<std::string, std::less<>> attended_;  // being looked at
  std::set<std::string, std::less<>> wanted_;    // to be looked at (again)
  TaskGroup tasks_;
};

}  // namespace reef::policy
