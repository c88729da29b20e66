// The policy's rules as config.toml has them: what happens at the edge is decided here too.
#pragma once

#include "context.h"
#include "daemon/config.h"
#include "policy/rules.h"

namespace reef::cli {

Result<daemon::Config> node_config(const Context& context);
policy::Rules rules_of(const daemon::Config& config);

}  // namespace reef::cli
