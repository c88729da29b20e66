// Adds the instruction files of the place a turn works in to an agent's prompt. They are looked up
// at every turn, on the pool, and never kept in a transcript. docs/hooks.md has the rules.
#pragma once

#include <memory>

#include "base/pool.h"
#include "hooks/instructions/instructions.h"
#include "runtime/hook.h"

namespace reef::hooks {

class InstructionsHook final : public runtime::Hook {
 public:
  // All outlive it.
  InstructionsHook(Files& files, session::Documents& documents, Pool& pool, std::string home)
      : pool_(pool), instructions_(files, documents, std::move(home)) {}

  void configure(InstructionsRule rule) { rule_ = std::move(rule); }

  Task<std::string> instructions(const runtime::Agent& agent,
                                 const runtime::Place& place) const override;

 private:
  Pool& pool_;
  InstructionsRule rule_;
  mutable Instructions instructions_;
};

}  // namespace reef::hooks
