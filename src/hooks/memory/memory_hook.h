// An agent's memory as tools: remember, forget, recall, and words for its prompt that say when. The
// names, arguments and answers are CrabTalk's. An agent sees its own memory only.
#pragma once

#include "memory/memory.h"
#include "runtime/hook.h"

namespace reef::hooks {

class MemoryHook final : public runtime::Hook {
 public:
  // Outlives it.
  explicit MemoryHook(memory::Memories& memories) : memories_(memories) {}

  std::vector<model::Tool> tools(const runtime::Agent& agent) const override;
  std::string prompt(const runtime::Agent& agent) const override;
  // Notes are the agent's own, and the user can see and undo them: nobody need be asked.
  runtime::Intent intent(const std::string& tool, const json::object& arguments,
                         const runtime::Caller& caller) const override;
  Task<runtime::ToolAnswer> call(std::string tool, json::object arguments,
                                 runtime::Caller caller) override;

 private:
  memory::Memories& memories_;
};

}  // namespace reef::hooks
