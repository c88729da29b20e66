// The policy's rules in config.toml, for commands that decide at the edge as the policy does.
#pragma once

#include "context.h"
#include "daemon/config.h"
#include "policy/rules.h"

namespace reef::cli {

Result<daemon::Config> node_config(const Context& context);
policy::Rules rules_of(const daemon::Config& config);

}  // namespace reef::cli
