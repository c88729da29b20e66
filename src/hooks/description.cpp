#include "hooks/description.h"

#include <algorithm>

#include <fmt/format.h>

namespace reef::hooks {
namespace {

using Type = Parameter::Type;

json::object schema_of(const std::vector<Parameter>& parameters);

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
    case Type::objects:
      out["type"] = "array";
      out["items"] = schema_of(parameter.fields);
      break;
  }
  out["description"] = parameter.description;
  return out;
}

json::object schema_of(const std::vector<Parameter>& parameters) {
  json::object properties;
  json::array required;
  for (const auto& parameter : parameters) {
    properties[parameter.name] = schema_of(parameter);
    if (parameter.required) required.emplace_back(parameter.name);
  }
  return json::object{
      {"type", "object"}, {"properties", std::move(properties)}, {"required", std::move(required)}};
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
    case Type::objects:
      return "a list of objects";
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
    case Type::objects:
      return value.is_array() &&
             std::all_of(value.get_array().begin(), value.get_array().end(),
                         [](const json::value& object) { return object.is_object(); });
  }
  return false;
}

// `place` goes before the names of the fields in errors: "edits[2].".
Status check_fields(const std::vector<Parameter>& parameters, const json::object& values,
                    const std::string& place) {
  for (const auto& parameter : parameters) {
    const auto* value = values.if_contains(parameter.name);
    const bool missing = !value || value->is_null();
    if (missing ? parameter.required : !fits(parameter, *value))
      return Error(Errc::invalid, fmt::format("invalid arguments: '{}{}' must be {}", place,
                                              parameter.name, wanted(parameter.type)));
    if (missing || parameter.type != Type::objects) continue;
    const auto& list = value->get_array();
    for (std::size_t i = 0; i < list.size(); ++i)
      REEF_CHECK(check_fields(parameter.fields, list[i].get_object(),
                              fmt::format("{}{}[{}].", place, parameter.name, i)));
  }
  return Ok{};
}

}  // namespace

model::Tool tool_from(const Description& description) {
  return model::Tool{std::string(description.name), std::string(description.description),
                     schema_of(description.parameters)};
}

Status check(const Description& description, const json::object& arguments) {
  return check_fields(description.parameters, arguments, "");
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

bool flag_of(const json::object& arguments, std::string_view name) {
  return json::find_bool(arguments, name).value_or(false);
}

}  // namespace reef::hooks
