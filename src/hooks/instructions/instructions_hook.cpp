#include "hooks/instructions/instructions_hook.h"

namespace reef::hooks {

Task<std::string> InstructionsHook::instructions(const runtime::Agent&,
                                                 const runtime::Place& place) const {
  if (rule_.files.empty() || rule_.bytes_max == 0) co_return std::string();
  // A reload must not change it under the pool's hands.
  auto work = [this, rule = rule_, cwd = place.cwd] { return instructions_.collect(rule, cwd); };
  co_return co_await pool_.run(work);
}

}  // namespace reef::hooks
