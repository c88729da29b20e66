// Makes room in a session's context: what is old becomes a summary, what is recent stays word for
// word. Nothing happens by itself; somebody asks for it. The transcript keeps everything. Loop
// thread.
#pragma once

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
  std::size_t messages = 0;       // that the summary stands for
  bool automatic = false;         // nobody asked for it
  std::string archive;  // its name in the agent's memory; empty: it could not be kept there
};

class Compactions {
 public:
  // Outlive it.
  Compactions(Executor loop, session::Sessions& sessions, memory::Memories& memories);
  // Where they are listed while they run; outlives it.
  void use_tasks(Tasks& tasks) { listed_ = &tasks; }
  // Told of each that went well.
  using Told = std::function<void(const session::SessionId&, const Agent&, const Compacted&)>;
  void on_compacted(Told told) { told_ = std::move(told); }

  struct Request {
    session::SessionId session;
    Agent agent;
    std::shared_ptr<const Setup> setup;
    std::string instructions = {};  // what the summary should mind in particular
    std::int64_t window_max = 0;    // the model's window is no larger; 0: nothing is known of it
    std::optional<std::int64_t> keep = {};  // tokens word for word; not given: the setting
    // Nobody asked: it is refused where it would win little. Else what is too short for the setting
    // keeps its last turn.
    bool automatic = false;
  };
  // All or nothing: on an error the session is as it was, and it can be talked to meanwhile. Two at
  // once for one session are one. The error says why: nothing to compact, a model that fails, a
  // summary that would not be shorter.
  Task<Result<Compacted>> compact(Request request);
  // Goes back to `entry`, and tells what is left behind there in a branch_summary, which it
  // returns; empty when nothing is. All or nothing, as above: one entry is both. `conflict` when
  // the conversation went on meanwhile. Ends with the task that asks.
  Task<Result<std::string>> rewind(Request request, session::EntryId entry);
  // Gives up what is under way for the session.
  void cancel(const session::SessionId& session);
  // Gives up what is under way; returns when all of it has ended.
  Task<void> stop();

 private:
  struct Work {
    Work(Executor loop, Request wanted) : request(std::move(wanted)), done(std::move(loop)) {}
    const Request request;
    std::optional<Result<Compacted>> outcome;
    Notify done;
    TaskGroup::Id task = 0;
  };

  // A task of its own: whoever asked may go away, and others may be waiting for the same.
  Task<void> work_on(std::shared_ptr<Work> work);
  Task<Result<Compacted>> do_compact(const Request& request);
  Task<Status> archive(std::string agent, std::string name, std::string summary);

  Executor loop_;
  session::Sessions& sessions_;
  memory::Memories& memories_;
  Tasks* listed_ = nullptr;
  Told told_;
  std::map<session::SessionId, std::shared_ptr<Work>> running_;
  TaskGroup tasks_;
};

}  // namespace reef::runtime
