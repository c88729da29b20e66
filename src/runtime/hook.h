// What a subsystem gives to agents: tools, and words for the prompt that say when to use them. Loop
// thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/provider.h"
#include "runtime/agent.h"
#include "runtime/question.h"
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
};

struct ToolAnswer {
  std::string text;  // for the model
  bool is_error = false;
  std::vector<session::ImageBlock> images = {};
  json::object details = {};  // kept with the result for viewers, not for the model
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
};

class Hook {
 public:
  virtual ~Hook() = default;

  // What this agent may call. The same answer for the same agent.
  virtual std::vector<model::Tool> tools(const Agent& agent) const = 0;
  // For the system prompt; may be empty.
  virtual std::string prompt(const Agent& agent) const = 0;
  // Asked before every call; what a hook says nothing about is taken for a change.
  virtual Intent intent(const std::string& tool, const json::object& arguments,
                        const Caller& caller) const {
    (void)arguments, (void)caller;
    return Intent{Intent::Effect::changes, tool, tool, {}};
  }
  // Never fails otherwise: what is wrong is text for the model. `arguments` is an object.
  // Cancelling the task stops the work.
  virtual Task<ToolAnswer> call(std::string tool, json::object arguments, Caller caller) = 0;
};

// What one agent is offered for a turn. It can call nothing else.
class Toolbox {
 public:
  const std::vector<model::Tool>& tools() const { return tools_; }
  Task<ToolAnswer> call(session::ToolCallBlock call, Caller caller) const;
  // Nothing for a tool that is not there: calling it says so.
  std::optional<Intent> intent(const session::ToolCallBlock& call, const Caller& caller) const;

 private:
  friend class Hooks;
  std::vector<model::Tool> tools_;  // by name
  std::map<std::string, std::shared_ptr<Hook>, std::less<>> owners_;
};

// All hooks of a daemon, as one.
class Hooks {
 public:
  void add(std::shared_ptr<Hook> hook);

  // Of two tools with one name the first hook's counts.
  Toolbox toolbox(const Agent& agent) const;
  // The agent's own prompt and what the hooks add.
  std::string prompt(const Agent& agent) const;

 private:
  std::vector<std::shared_ptr<Hook>> hooks_;
};

}  // namespace reef::runtime
