// What a subsystem gives to agents: tools, and words for the prompt that say when to use them; and
// what it hears of them. docs/hooks.md tells when each is called. Loop thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "model/provider.h"
#include "runtime/agent.h"
#include "runtime/broadcast.h"
#include "runtime/question.h"
#include "runtime/scope.h"
#include "session/entry.h"
#include "session/ids.h"
#include "session/message.h"

namespace reef::runtime {

// Who calls, and where.
struct Caller {
  Agent agent;
  std::string sender;
  session::SessionId session;
  std::string cwd;
  std::string call_id = {};
  // Shown to whoever reads along, never kept. Set in every turn.
  std::function<void(std::string)> progress = {};
  // Puts questions to the user and waits: one answer each, or why there is none (timeout,
  // cancelled, unsupported where nobody can answer). Set in every turn.
  std::function<Task<Result<std::vector<Answer>>>(Ask)> ask = {};
  PermissionMode mode = PermissionMode::ask;  // of the session when the call was let through
  bool local = true;                          // not behind a gateway
  std::string key = {};                       // of the conversation
  Lineage lineage = {};
};

// Where a turn works: the folder it was given or its session's (empty: none of its own), and
// whether its sender is at this machine.
struct Place {
  std::string cwd;
  bool local = true;
};

// What a user said, and what belongs to it.
struct Words {
  std::string text;
  bool hidden = false;  // words of a program
  // Kept behind the text, for the model: the user's own words stay as they are.
  std::vector<session::Draft> beside = {};
};

struct ToolAnswer {
  std::string text;  // for the model
  bool is_error = false;
  std::vector<session::ImageBlock> images = {};
  json::object details = {};  // kept with the result for viewers, not for the model
  std::string plan = {};      // the name of a plan that was handed in: a person decides about it
};

// What a call would do, as far as it can be told without doing it.
struct Intent {
  enum class Effect : std::uint8_t {
    reads,      // proven to change nothing
    changes,    // may change something
    dangerous,  // may destroy what cannot be had back: always asked about
  };
  Effect effect = Effect::changes;
  std::string shown = {};   // what the user is asked about: a command, a path
  std::string rule = {};    // what "always" would cover; empty: cannot be allowed for good
  std::string reason = {};  // why it is more than looking: "'tee' writes files"
  std::string covers = {};  // the rule in words; empty: it says it itself
};

// Every method has a default that does nothing, so that `Hook` itself is one for embedded use.
class Hook {
 public:
  virtual ~Hook() = default;

  // A turn of this agent is about to begin: what tools() needs to be found out may be, for a
  // moment.
  virtual Task<void> ready(const Agent& agent) const;
  // What this agent may call. The same answer for the same agent, unless Runtime::forget_offer()
  // was told.
  virtual std::vector<model::Tool> tools(const Agent& agent) const {
    (void)agent;
    return {};
  }
  // Which of tools() the agent's configuration grants, and a line for its <scope>. All, and none,
  // unless said otherwise.
  struct Scoped {
    std::vector<std::string> names;
    std::string line;
  };
  virtual Scoped scoped_tools(const Agent& agent) const;
  // For the system prompt; may be empty. The same until the configuration changes.
  virtual std::string prompt(const Agent& agent) const {
    (void)agent;
    return {};
  }
  // For the system prompt of one turn; never kept. Guests are told too. Both arguments outlive the
  // task.
  virtual Task<std::string> instructions(const Agent& agent, const Place& place) const;

  // An agent as it was configured becomes the one that runs.
  virtual Agent on_build_agent(Agent agent) const { return agent; }
  // It can be talked to from now on. An agent that changed goes and comes again.
  virtual void on_register_agent(const Agent& agent) { (void)agent; }
  virtual void on_unregister_agent(const std::string& name) { (void)name; }

  // What a user says to an agent in the conversation `key`, before it is kept. The arguments
  // outlive the task.
  virtual Task<void> preprocess(const Agent& agent, const std::string& key, Words& words);
  // Everything that happens in turns. Must return at once.
  virtual void on_event(const Scene& scene, const Event& event) { (void)scene, (void)event; }

  // Why no hook's tool may be called this way now; nullopt: nothing against it. Every hook is asked
  // about every call before it is dispatched.
  virtual std::optional<std::string> objection(const std::string& tool,
                                               const json::object& arguments,
                                               const Caller& caller) const {
    (void)tool, (void)arguments, (void)caller;
    return std::nullopt;
  }
  // Asked before every call; what a hook says nothing about is taken for a change.
  virtual Intent intent(const std::string& tool, const json::object& arguments,
                        const Caller& caller) const {
    (void)arguments, (void)caller;
    return Intent{Intent::Effect::changes, tool, tool, {}};
  }
  // Whether a call of this tool leaves something behind in the home: a note, a plan, a
  // conversation. Turns of which nothing is kept do without it.
  virtual bool keeps(const std::string& tool) const {
    (void)tool;
    return false;
  }
  // Never fails otherwise: what is wrong is text for the model. `arguments` is an object.
  // Cancelling the task stops the work.
  virtual Task<ToolAnswer> call(std::string tool, json::object arguments, Caller caller);
};

// What one agent is offered for a turn. It can call nothing else: what is outside its scope is
// refused before any hook hears of it, and logged as a security event.
class Toolbox {
 public:
  const std::vector<model::Tool>& tools() const { return tools_; }
  bool has(std::string_view tool) const { return owners_.contains(tool); }
  Task<ToolAnswer> call(session::ToolCallBlock call, Caller caller) const;
  // A hook's tools, in place of those that have their names.
  void add(std::shared_ptr<Hook> hook, std::vector<model::Tool> tools);
  // For a turn of which nothing is kept.
  void leave_out_what_keeps();
  // Nothing for a tool that is not there or outside the scope: calling it says so.
  std::optional<Intent> intent(const session::ToolCallBlock& call, const Caller& caller) const;

 private:
  friend class Hooks;
  std::optional<Violation> violation(const session::ToolCallBlock& call,
                                     const Caller& caller) const;

  std::vector<model::Tool> tools_;              // by name
  std::set<std::string, std::less<>> outside_;  // there, and not for this agent
  std::map<std::string, std::shared_ptr<Hook>, std::less<>> owners_;
  std::vector<std::shared_ptr<Hook>> hooks_;  // all, for their objections
};

// All hooks of a daemon, as one.
class Hooks {
 public:
  void add(std::shared_ptr<Hook> hook);

  // Of two tools with one name the first hook's counts.
  Toolbox toolbox(const Agent& agent) const;
  // Every tool there is for it, inside its scope or not.
  std::vector<std::string> known_tools(const Agent& agent) const;
  // The agent's own prompt, what the hooks add, and its scope.
  std::string prompt(const Agent& agent) const;
  Task<std::string> instructions(const Agent& agent, const Place& place) const;
  Task<void> ready(const Agent& agent) const;

  Agent build(Agent agent) const;
  // Tells every hook who came, changed and went.
  using Agents = std::map<std::string, Agent, std::less<>>;
  void announce(const Agents& before, const Agents& after) const;
  // Every hook in turn is given what the one before made of it.
  Task<Words> preprocess(const Agent& agent, const std::string& key, Words words) const;
  void on_event(const Scene& scene, const Event& event) const;

 private:
  std::vector<std::shared_ptr<Hook>> hooks_;
};

}  // namespace reef::runtime
