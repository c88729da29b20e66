// Tools for an agent's memory: remember, forget, recall, and words for its prompt that say when to
// use them. Names, arguments and answers are CrabTalk's. An agent sees only its own memory, and
// only archives of conversations it may see (hooks/sight.h).
#pragma once

#include "memory/memory.h"
#include "runtime/hook.h"
#include "session/session.h"

namespace reef::hooks {

class MemoryHook final : public runtime::Hook {
 public:
  // Both outlive it.
  MemoryHook(memory::Memories& memories, const session::Sessions& sessions)
      : memories_(memories), sessions_(sessions) {}

  std::vector<model::Tool> tools(const runtime::Agent& agent) const override;
  std::string prompt(const runtime::Agent& agent) const override;
  // Notes are the agent's own, and the user can see and undo them, so nobody is asked.
  runtime::Intent intent(const std::string& tool, const json::object& arguments,
                         const runtime::Caller& caller) const override;
  bool keeps(const std::string& tool) const override { return tool != "recall"; }
  Task<runtime::ToolAnswer> call(std::string tool, json::object arguments,
                                 runtime::Caller caller) override;

 private:
  Task<runtime::ToolAnswer> recall(memory::Memory& memory, const json::object& arguments,
                                   const runtime::Caller& caller) const;

  memory::Memories& memories_;
  const session::Sessions& sessions_;
};

}  // namespace reef::hooks
