// Makes room in a session's context: old messages become a summary, recent ones stay word for word.
// It happens only on request. The transcript keeps everything. Loop thread.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/notify.h"
#include "base/task_group.h"
#include "memory/memory.h"
#include "runtime/agent.h"
#include "runtime/tasks.h"
#include "session/session.h"

namespace reef::runtime {

struct Compacted {
  std::string summary;
  std::int64_t tokens_before = 0;
  std::int64_t tokens_after = 0;  // estimated
  std::size_t messages = 0;       // replaced by the summary
  bool automatic = false;         // nobody asked for it
  std::string archive;  // name in the agent's memory; empty when it could not be kept there
};

class Compactions {
 public:
  // The arguments outlive it. Compactions are listed among `tasks` while they run.
  Compactions(Executor loop, session::Sessions& sessions, memory::Memories& memories,
              Tasks* tasks = nullptr);
  // Called after each compaction that succeeded.
  using Told = std::function<void(const session::SessionId&, const Agent&, const Compacted&)>;
  void on_compacted(Told told) { told_ = std::move(told); }

  struct Request {
    session::SessionId session;
    Agent agent;
    std::shared_ptr<const Setup> setup;
    std::string instructions = {};          // what the summary should mind in particular
    std::int64_t window_max = 0;            // upper bound for the model's window; 0: not known
    std::optional<std::int64_t> keep = {};  // tokens to keep word for word; none: the setting
    // Set when nobody asked for it: a context too short for the setting is then refused. On request
    // such a context keeps its last turn.
    bool automatic = false;
    // Set when a turn needs the room itself; see leave().
    bool for_turn = false;
  };
  // All or nothing: on an error the session is unchanged. The session can be used meanwhile. The
  // error says why: nothing to compact, a model that fails, a summary that would not be shorter.
  // What comes while a compaction of the session is under way shares it, unless it has wishes of
  // its own (`keep`, `instructions`) that are others: then it takes the place of one that nobody
  // asked for, or comes after one that somebody asked for, on what that left.
  Task<Result<Compacted>> compact(Request request);
  // Goes back to `entry` and keeps a summary of what is left behind as a branch_summary, which it
  // returns; empty when nothing is left behind. All or nothing: one entry does both. `conflict`
  // when the conversation went on meanwhile. Cancelled with the task that calls it.
  Task<Result<std::string>> rewind(Request request, session::EntryId entry);
  // Cancels what is under way for the session.
  void cancel(const session::SessionId& session);
  // The turn that needed the room is over. Cancels what is under way for the session, unless
  // somebody else asked for it, too.
  void leave(const session::SessionId& session);
  // Cancels what is under way; returns when all of it has ended.
  Task<void> stop();

 private:
  struct Work {
    Work(Executor loop, Request wanted) : request(std::move(wanted)), done(std::move(loop)) {}
    Request request;
    std::optional<Result<Compacted>> outcome;
    Notify done;
    TaskGroup::Id task = 0;
    bool asked_for = false;         // by somebody besides the turn that needs the room
    bool waited = false;            // another one was under way before it
    std::shared_ptr<Work> instead;  // took its place
  };
  // The compactions of one session: the first is under way, the others come after it.
  using Line = std::deque<std::shared_ptr<Work>>;

  // The compaction that does what is asked for. Fails with `busy` when too many wait already.
  Result<std::shared_ptr<Work>> join(const Request& request);
  void begin(Line& line);
  // A task of its own: the caller may go away while others wait for the same result.
  Task<void> work_on(std::shared_ptr<Work> work);
  Task<Result<Compacted>> do_compact(const Request& request);
  Task<Status> archive(std::string agent, std::string name, std::string summary);

  Executor loop_;
  session::Sessions& sessions_;
  memory::Memories& memories_;
  Tasks* listed_ = nullptr;
  Told told_;
  std::map<session::SessionId, Line> lines_;
  bool stopping_ = false;
  TaskGroup tasks_;
};

}  // namespace reef::runtime
