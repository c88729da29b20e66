// Turns TOML into JSON and back, for values that are passed on unchanged. Used by the .cpp files of
// daemon/ only.
#pragma once

#include <string>
#include <string_view>

#include <toml++/toml.h>

#include "base/json.h"
#include "base/result.h"

namespace reef::daemon {

// Dates and times become text.
json::value to_json(const toml::node& node);

// Writes a value in one line, as it stands after `key =`. TOML has no null and no numbers beyond 63
// bits.
Result<std::string> toml_value(const json::value& value);
// Quotes the key where it must be.
std::string toml_key(std::string_view key);

}  // namespace reef::daemon
