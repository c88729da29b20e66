// Changes one table or one key of config.toml for the user; every other line, comments included,
// stays. Pure functions; each reads its result back and checks it.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/registry.h"

namespace reef::daemon {

// Fails on a file that is invalid already, and on forms that only a person can edit (an inline
// table, dotted keys). `file` names it in errors.
Result<std::string> with_default_model(std::string_view text, std::string_view file,
                                       const std::string& model);
// Renames the agent where the file names it: default_agent, the keys of
// [session.idle_minutes_by_key].
Result<std::string> with_renamed_agent(std::string_view text, std::string_view file,
                                       const std::string& from, const std::string& to);
// Adds [providers.NAME], or gives an existing one this definition: kind, base_url, key, models,
// default_model, api_version, auth, region. Members the definition leaves out are removed (a key
// must not stay behind for another backend); everything else in the table stays.
Result<std::string> with_provider(std::string_view text, std::string_view file,
                                  const model::ProviderSpec& spec);
// Removes the provider and its sub-tables. `not_found` when there is none.
Result<std::string> without_provider(std::string_view text, std::string_view file,
                                     const std::string& name);

}  // namespace reef::daemon
