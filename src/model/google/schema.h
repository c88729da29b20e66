// Gemini takes a small part of JSON Schema and refuses the rest. Pure functions.
#pragma once

#include <optional>

#include "base/json.h"

namespace reef::model::google {

// What Gemini takes of a tool's parameters; nullopt when there are none. References are written
// out, what it does not know is left out, and an object of any shape becomes a string of JSON.
std::optional<json::object> cleaned_schema(const json::object& parameters);
// The same strings back to the objects the tool expects.
void restore_arguments(json::object& arguments, const json::object& parameters);

}  // namespace reef::model::google
