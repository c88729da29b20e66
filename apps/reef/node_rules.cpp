#include "node_rules.h"

#include "base/files.h"

namespace reef::cli {

Result<daemon::Config> node_config(const Context& context) {
  PosixFiles files;
  REEF_TRY(auto loaded, daemon::load_config(files, context.home.config()));
  return std::move(loaded.config);
}

policy::Rules rules_of(const daemon::Config& config) {
  return config.policy_enabled ? config.policy : policy::Rules::none();
}

}  // namespace reef::cli
