// One description per tool: it tells the model about the arguments, and the arguments are checked
// against it. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "model/provider.h"
#include "runtime/hook.h"

namespace reef::hooks {

struct Parameter {
  enum class Type : std::uint8_t { text, integer, boolean, texts, objects };

  std::string_view name;
  Type type = Type::text;
  std::string_view description;
  bool required = false;
  // Limits of an integer; a larger value counts as the largest.
  std::int64_t min = 0, max = INT64_MAX;
  // The fields of the objects in a list.
  std::vector<Parameter> fields = {};
};

struct Description {
  std::string_view name;
  std::string_view description;
  std::vector<Parameter> parameters;
};

model::Tool tool_from(const Description& description);

// Errors read "invalid arguments: 'limit' must be a whole number", "... 'edits[2].path' must be a
// text". Unknown arguments are ignored; null counts as missing.
Status check(const Description& description, const json::object& arguments);

// Call these after check().
std::string text_of(const json::object& arguments, std::string_view name);
std::int64_t integer_of(const json::object& arguments, const Parameter& parameter,
                        std::int64_t otherwise);
bool flag_of(const json::object& arguments, std::string_view name);

// The answer for a call that cannot be done.
inline runtime::ToolAnswer failed(std::string why) {
  return {std::move(why), true};
}

}  // namespace reef::hooks
