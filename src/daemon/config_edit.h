// Changing config.toml for the user: one table or one key, every other line, comments included, as
// it was. Pure functions; what they return was read back and says what it should.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/registry.h"

namespace reef::daemon {

// Fails on a text that is not good already, and on forms that only a person can edit (an inline
// table, dotted keys). `file` names it in errors.
Result<std::string> with_default_model(std::string_view text, std::string_view file,
                                       const std::string& model);
// What names an agent gets its new name: default_agent, the keys of [session.idle_minutes_by_key].
Result<std::string> with_renamed_agent(std::string_view text, std::string_view file,
                                       const std::string& from, const std::string& to);
// Adds [providers.NAME], or gives the one that is there this definition: kind, base_url, key,
// models, default_model, api_version, auth, region. Those that are not given go (a key must not
// stay behind for another backend); everything else in the table stays.
Result<std::string> with_provider(std::string_view text, std::string_view file,
                                  const model::ProviderSpec& spec);
// Its sub-tables go with it. `not_found` when there is none.
Result<std::string> without_provider(std::string_view text, std::string_view file,
                                     const std::string& name);

}  // namespace reef::daemon
