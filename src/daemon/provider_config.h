// Reads [providers.*] of config.toml, and the members of an agent's file about models. Pure
// functions; for config.cpp.
#pragma once

#include <string_view>

#include "daemon/config.h"
#include "daemon/toml_table.h"

namespace reef::daemon {

Status read_providers(Table& root, std::string_view file, LoadedConfig& out);
// model, models, fallback, thinking, max_tokens, [parameters]
void read_model(Table& root, runtime::Agent& agent);

}  // namespace reef::daemon
