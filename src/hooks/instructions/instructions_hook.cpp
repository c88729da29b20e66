#include "hooks/instructions/instructions_hook.h"

namespace reef::hooks {

Task<std::string> InstructionsHook::instructions(const runtime::Agent&,
                                                 const runtime::Place& place) const {
  if (rule_.files.empty() || rule_.bytes_max == 0) co_return std::string();
  // Without such files in the home and without a folder there is nothing to read on a thread.
  if (place.cwd.empty() && instructions_.has_none_of_home(rule_)) co_return std::string();
  // The rule is copied, because a reload may change it while the pool works.
  auto work = [this, rule = rule_, cwd = place.cwd] { return instructions_.collect(rule, cwd); };
  co_return co_await pool_.run(work);
}

}  // namespace reef::hooks
