// One description per tool: what the model is told of its arguments, and what they are checked
// against. Pure functions.
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
  // Of an integer; a larger one is taken for the largest.
  std::int64_t min = 0, max = INT64_MAX;
  // Of the objects in a list.
  std::vector<Parameter> fields = {};
};

struct Description {
  std::string_view name;
  std::string_view description;
  std::vector<Parameter> parameters;
};

model::Tool tool_from(const Description& description);

// "invalid arguments: 'limit' must be a whole number", "... 'edits[2].path' must be a text".
// Unknown arguments are ignored, null is as if it were not there.
Status check(const Description& description, const json::object& arguments);

// After check().
std::string text_of(const json::object& arguments, std::string_view name);
std::int64_t integer_of(const json::object& arguments, const Parameter& parameter,
                        std::int64_t otherwise);
bool flag_of(const json::object& arguments, std::string_view name);

// What the model is told when a call cannot be done.
inline runtime::ToolAnswer failed(std::string why) {
  return {std::move(why), true};
}

}  // namespace reef::hooks
