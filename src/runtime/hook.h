// What a subsystem gives to agents: tools, prompt text that says when to use them, and reactions to
// events. docs/hooks.md tells when each method is called. Loop thread.
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

// The caller of a tool, and the place it calls from.
struct Caller {
  Agent agent;
  std::string sender;
  session::SessionId session;
  std::string cwd;
  std::string call_id = {};
  // Shows progress to readers of the turn; never kept. Set in every turn.
  std::function<void(std::string)> progress = {};
  // Puts questions to the user and waits: one answer each, or why there is none (timeout,
  // cancelled, unsupported when nobody can answer). Set in every turn.
  std::function<Task<Result<std::vector<UserAnswer>>>(Ask)> ask = {};
  PermissionMode mode = PermissionMode::ask;  // of the session when the call was let through
  bool local = true;                          // not behind a gateway
  std::string key = {};                       // of the conversation
  Lineage lineage = {};
};

// The folder a turn works in (its message's or its session's; may be empty), and whether its sender
// is at this machine.
struct Place {
  std::string cwd;
  bool local = true;
};

// A user's words, and what belongs to them.
struct Words {
  std::string text;
  bool hidden = false;  // the words of a program
  // Kept behind the text, for the model: the user's own words stay unchanged.
  std::vector<session::Draft> beside = {};
};

struct ToolAnswer {
  std::string text;  // for the model
  bool is_error = false;
  std::vector<session::ImageBlock> images = {};
  json::object details = {};  // kept with the result for viewers, not for the model
  std::string plan = {};      // the name of a plan that was handed in: a person decides about it
};

// The effects of a call, as far as they are known without making it.
struct Intent {
  enum class Effect : std::uint8_t {
    reads,      // proven to change nothing
    changes,    // may change something
    dangerous,  // may destroy something for good: the user is always asked
  };
  Effect effect = Effect::changes;
  std::string shown = {};   // what the user is asked about: a command, a path
  std::string rule = {};    // what "always" would cover; empty: cannot be allowed for good
  std::string reason = {};  // why it is more than looking: "'tee' writes files"
  std::string covers = {};  // the rule in words; empty when it speaks for itself
};

// Every method has a default that does nothing, so a plain `Hook` can be used in embedded programs.
class Hook {
 public:
  virtual ~Hook() = default;

  // Called before a turn of this agent; may take a moment to find out what tools() needs.
  virtual Task<void> ready(const Agent& agent) const;
  // The tools this agent may call. The answer for an agent stays the same unless
  // Runtime::forget_offer() is called.
  virtual std::vector<model::Tool> tools(const Agent& agent) const {
    (void)agent;
    return {};
  }
  // The tools() that the agent's configuration grants, and a line for its <scope>. By default all
  // tools and no line.
  struct Scoped {
    std::vector<std::string> names;
    std::string line;
  };
  virtual Scoped scoped_tools(const Agent& agent) const;
  // Text for the system prompt; may be empty. Stays the same until the configuration changes.
  virtual std::string prompt(const Agent& agent) const {
    (void)agent;
    return {};
  }
  // Text for the system prompt of one turn, also of a guest's; never kept. Both arguments outlive
  // the task.
  virtual Task<std::string> instructions(const Agent& agent, const Place& place) const;

  // Makes the agent that runs from the one that is configured.
  virtual Agent on_build_agent(Agent agent) const { return agent; }
  // The agent can be talked to from now on. A changed agent is unregistered and registered again.
  virtual void on_register_agent(const Agent& agent) { (void)agent; }
  virtual void on_unregister_agent(const std::string& name) { (void)name; }

  // May change what a user says to an agent in the conversation `key` before it is kept. The
  // arguments outlive the task.
  virtual Task<void> preprocess(const Agent& agent, const std::string& key, Words& words);
  // Called for everything that happens in turns. Must return at once.
  virtual void on_event(const Scene& scene, const Event& event) { (void)scene, (void)event; }

  // Says why this call must not be made now, whichever hook has the tool; nullopt: no objection.
  // Every hook is asked about every call before it is dispatched.
  virtual std::optional<std::string> objection(const std::string& tool,
                                               const json::object& arguments,
                                               const Caller& caller) const {
    (void)tool, (void)arguments, (void)caller;
    return std::nullopt;
  }
  // Asked before every call. By default a call is taken for a change.
  virtual Intent intent(const std::string& tool, const json::object& arguments,
                        const Caller& caller) const {
    (void)arguments, (void)caller;
    return Intent{Intent::Effect::changes, tool, tool, {}};
  }
  // Whether a call of this tool leaves something behind in the home: a note, a plan, a
  // conversation. Ephemeral turns do not get such tools.
  virtual bool keeps(const std::string& tool) const {
    (void)tool;
    return false;
  }
  // Reports failures as text for the model and throws only when it is cancelled. `arguments` is an
  // object. Cancelling the task stops the work.
  virtual Task<ToolAnswer> call(std::string tool, json::object arguments, Caller caller);
};

// What one agent is offered for a turn. A call of anything else is refused before a hook hears of
// it; a call outside the agent's scope is also logged as a security event.
class Toolbox {
 public:
  const model::ToolList& tools() const { return tools_; }
  bool has(std::string_view tool) const { return owners_.contains(tool); }
  Task<ToolAnswer> call(session::ToolCallBlock call, Caller caller) const;
  // Adds tools of a hook; they replace those of the same names.
  void add(std::shared_ptr<Hook> hook, std::vector<model::Tool> tools);
  // Removes the tools that leave something behind, for a turn of which nothing is kept.
  void leave_out_what_keeps();
  // Nothing for a tool that is unknown or outside the scope: calling it says so.
  std::optional<Intent> intent(const session::ToolCallBlock& call, const Caller& caller) const;

 private:
  friend class Hooks;
  std::optional<Violation> violation(const session::ToolCallBlock& call,
                                     const Caller& caller) const;

  model::ToolList tools_;                       // by name
  std::set<std::string, std::less<>> outside_;  // tools that exist, but not for this agent
  std::map<std::string, std::shared_ptr<Hook>, std::less<>> owners_;
  std::vector<std::shared_ptr<Hook>> hooks_;  // all hooks, asked for objections
};

// All hooks of a daemon together.
class Hooks {
 public:
  void add(std::shared_ptr<Hook> hook);

  // When two hooks have a tool of the same name, the first hook's counts.
  Toolbox toolbox(const Agent& agent) const;
  // Every tool there is for the agent, inside its scope or not.
  std::vector<std::string> known_tools(const Agent& agent) const;
  // The agent's own prompt, what the hooks add, and its scope.
  std::string prompt(const Agent& agent) const;
  Task<std::string> instructions(const Agent& agent, const Place& place) const;
  Task<void> ready(const Agent& agent) const;

  Agent build(Agent agent) const;
  // Tells every hook which agents came, changed and went.
  using Agents = std::map<std::string, Agent, std::less<>>;
  void announce(const Agents& before, const Agents& after) const;
  // Each hook gets the words as the hook before left them.
  Task<Words> preprocess(const Agent& agent, const std::string& key, Words words) const;
  void on_event(const Scene& scene, const Event& event) const;

 private:
  std::vector<std::shared_ptr<Hook>> hooks_;
};

}  // namespace reef::runtime
