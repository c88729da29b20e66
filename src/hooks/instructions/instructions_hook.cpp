#include "hooks/instructions/instructions_hook.h"

namespace reef::hooks {

Task<std::string> InstructionsHook::instructions(const runtime::Agent&,
                                                 const runtime::Place& place) const {
  if (rule_.files.empty() || rule_.bytes_max == 0) co_return std::string();
  // Of a home without such files, and no folder, there is nothing to read: no thread is asked.
  if (place.cwd.empty() && instructions_.has_none_of_home(rule_)) co_return std::string();
  // The rule is copied, because a reload may change it while the pool works.
  auto work = [this, rule = rule_, cwd = place.cwd] { return instructions_.collect(rule, cwd); };
  co_return co_await pool_.run(work);
}

}  // namespace reef::hooks
