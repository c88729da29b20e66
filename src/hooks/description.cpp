#include "hooks/description.h"

#include <algorithm>

#include <fmt/format.h>

namespace reef::hooks {
namespace {

using Type = Parameter::Type;

json::object schema_of(const Parameter& parameter) {
  json::object out;
  switch (parameter.type) {
    case Type::text:
      out["type"] = "string";
      break;
    case Type::integer:
      out["type"] = "integer";
      out["minimum"] = parameter.min;
      if (parameter.max != INT64_MAX) out["maximum"] = parameter.max;
      break;
    case Type::boolean:
      out["type"] = "boolean";
      break;
    case Type::texts:
      out["type"] = "array";
      out["items"] = json::object{{"type", "string"}};
      break;
  }
  out["description"] = parameter.description;
  return out;
}

std::string_view wanted(Type type) {
  switch (type) {
    case Type::text:
      return "a text";
    case Type::integer:
      return "a whole number";
    case Type::boolean:
      return "true or false";
    case Type::texts:
      return "a list of texts";
  }
  return {};
}

bool fits(const Parameter& parameter, const json::value& value) {
  switch (parameter.type) {
    case Type::text:
      return value.is_string();
    case Type::integer:
      return (value.is_int64() || value.is_uint64()) &&
             (value.is_uint64() || value.get_int64() >= parameter.min);
    case Type::boolean:
      return value.is_bool();
    case Type::texts:
      return value.is_array() &&
             std::all_of(value.get_array().begin(), value.get_array().end(),
                         [](const json::value& text) { return text.is_string(); });
  }
  return false;
}

}  // namespace

model::Tool tool_from(const Description& description) {
  json::object properties;
  json::array required;
  for (const auto& parameter : description.parameters) {
    properties[parameter.name] = schema_of(parameter);
    if (parameter.required) required.emplace_back(parameter.name);
  }
  return model::Tool{std::string(description.name), std::string(description.description),
                     json::object{{"type", "object"},
                                  {"properties", std::move(properties)},
                                  {"required", std::move(required)}}};
}

Status check(const Description& description, const json::object& arguments) {
  for (const auto& parameter : description.parameters) {
    const auto* value = arguments.if_contains(parameter.name);
    const bool missing = !value || value->is_null();
    if (missing ? parameter.required : !fits(parameter, *value))
      return Error(Errc::invalid, fmt::format("invalid arguments: '{}' must be {}", parameter.name,
                                              wanted(parameter.type)));
  }
  return Ok{};
}

std::string text_of(const json::object& arguments, std::string_view name) {
  return std::string(json::find_string(arguments, name).value_or(""));
}

std::int64_t integer_of(const json::object& arguments, const Parameter& parameter,
                        std::int64_t otherwise) {
  const auto* value = arguments.if_contains(parameter.name);
  if (!value || value->is_null()) return otherwise;
  if (value->is_uint64()) return parameter.max;
  return std::clamp(value->get_int64(), parameter.min, parameter.max);
}

}  // namespace reef::hooks
