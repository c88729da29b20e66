// Adapts JSON Schema to the small part of it that Gemini accepts. Pure functions.
#pragma once

#include <optional>

#include "base/json.h"

namespace reef::model::google {

// Returns what Gemini accepts of a tool's parameters; nullopt when there are none. References are
// expanded, unknown keywords are dropped, and an object without a fixed shape becomes a string of
// JSON.
std::optional<json::object> cleaned_schema(const json::object& parameters);
// Parses these strings back into the objects that the tool expects.
void restore_arguments(json::object& arguments, const json::object& parameters);

}  // namespace reef::model::google
