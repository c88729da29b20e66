#include "model/google/schema.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

namespace reef::model::google {
namespace {

using json::array;
using json::object;
using json::value;

// The limit for references and nesting; anything deeper becomes a string of JSON.
constexpr int kDepthMax = 24;

constexpr std::string_view kKept[] = {"title",    "description", "nullable",  "maxItems",
                                      "minItems", "minLength",   "maxLength", "pattern",
                                      "minimum",  "maximum"};

// The schemas of one tool; references are resolved from its root.
class Schemas {
 public:
  explicit Schemas(const object& root) : root_(root) {}

  object clean(const object& in, int depth) const {
    if (depth > kDepthMax) return any_shape(in);
    if (const auto* target = referred(in)) return clean(*target, depth + 1);
    if (const auto all = merged(in)) return clean(*all, depth + 1);

    object out;
    for (const auto key : kKept)
      if (const auto* found = in.if_contains(key); found && !found->is_null()) out[key] = *found;
    if (const auto* choices = choices_of(in)) return clean_choices(*choices, std::move(out), depth);

    const auto types = types_of(in);
    if (types.contains("null")) out["nullable"] = true;
    if (types.size() - types.count("null") > 1) {
      array choices;
      for (const auto& type : types) {
        auto one = in;
        one["type"] = type;
        one.erase("description");
        choices.push_back(std::move(one));
      }
      return clean_choices(choices, std::move(out), depth);
    }
    for (const auto& type : types)
      if (type != "null") set_type(out, type, in, depth);
    if (!out.contains("type")) out["type"] = "string";
    return out;
  }

  void restore(value& argument, const object& schema, int depth) const {
    if (depth > kDepthMax) return;
    if (const auto* target = referred(schema)) return restore(argument, *target, depth + 1);
    if (const auto all = merged(schema)) return restore(argument, *all, depth + 1);
    if (auto* fields = argument.if_object()) {
      const auto* properties = json::find_object(schema, "properties");
      if (!properties) return;
      for (auto& field : *fields)
        if (const auto* property = properties->if_contains(field.key());
            property && property->is_object())
          restore(field.value(), property->as_object(), depth + 1);
    } else if (auto* items = argument.if_array()) {
      const auto* of = json::find_object(schema, "items");
      if (!of) return;
      for (auto& item : *items) restore(item, *of, depth + 1);
    } else if (argument.is_string() && is_any_shape(schema)) {
      auto parsed = json::parse(argument.as_string());
      if (parsed && parsed->is_object()) argument = *std::move(parsed);
    }
  }

 private:
  // Resolves a reference such as "#/$defs/Name".
  const object* referred(const object& in) const {
    const auto path = json::find_string(in, "$ref");
    if (!path || !path->starts_with("#/")) return nullptr;
    const auto* found = &root_;
    auto rest = path->substr(2);
    while (found) {
      const auto slash = rest.find('/');
      const auto* next = found->if_contains(rest.substr(0, slash));
      found = next ? next->if_object() : nullptr;
      if (slash == std::string_view::npos) break;
      rest.remove_prefix(slash + 1);
    }
    return found;
  }

  // Merges allOf into one schema.
  std::optional<object> merged(const object& in) const {
    const auto* all = json::find_array(in, "allOf");
    if (!all) return std::nullopt;
    auto out = in;
    out.erase("allOf");
    for (const auto& item : *all) {
      const auto* part = item.if_object();
      if (part)
        if (const auto* target = referred(*part)) part = target;
      if (!part) continue;
      for (const auto& [key, found] : *part) {
        auto* mine = out.if_contains(key);
        if (mine && mine->is_object() && found.is_object()) {
          for (const auto& [name, member] : found.as_object()) mine->as_object()[name] = member;
        } else if (mine && mine->is_array() && found.is_array()) {
          for (const auto& element : found.as_array()) mine->as_array().push_back(element);
        } else if (!mine && key != "allOf") {
          out[key] = found;
        }
      }
    }
    return out;
  }

  static const array* choices_of(const object& in) {
    for (const auto* key : {"anyOf", "oneOf"})
      if (const auto* found = json::find_array(in, key); found && !found->empty()) return found;
    return nullptr;
  }

  static std::set<std::string> types_of(const object& in) {
    std::set<std::string> out;
    if (const auto type = json::find_string(in, "type")) {
      out.emplace(*type);
    } else if (const auto* several = json::find_array(in, "type")) {
      for (const auto& item : *several)
        if (item.is_string()) out.emplace(item.as_string());
    } else if (in.contains("properties")) {
      out.emplace("object");
    } else if (in.contains("items")) {
      out.emplace("array");
    }
    return out;
  }

  static bool is_any_shape(const object& in) {
    const auto* properties = json::find_object(in, "properties");
    return types_of(in).contains("object") && (!properties || properties->empty());
  }

  static object any_shape(const object& in) {
    std::string words(json::find_string(in, "description").value_or(""));
    if (!words.empty()) words += " ";
    return object{{"type", "string"}, {"description", words + "(an object, written as JSON)"}};
  }

  // Gemini allows only a description and nullability next to choices.
  object clean_choices(const array& choices, object out, int depth) const {
    array kept;
    bool nullable = out.contains("nullable");
    for (const auto& item : choices) {
      const auto* choice = item.if_object();
      if (!choice) continue;
      if (json::find_string(*choice, "type") == "null") {
        nullable = true;
        continue;
      }
      kept.push_back(clean(*choice, depth + 1));
    }
    object described;
    if (kept.size() == 1) {
      described = std::move(kept[0].as_object());
    } else if (kept.empty()) {
      described["type"] = "string";
    } else {
      described["anyOf"] = std::move(kept);
    }
    if (const auto words = json::find_string(out, "description")) described["description"] = *words;
    if (nullable) described["nullable"] = true;
    return described;
  }

  void set_type(object& out, const std::string& type, const object& in, int depth) const {
    if (type == "object") {
      if (is_any_shape(in)) {
        const bool nullable = out.contains("nullable");
        out = any_shape(in);
        if (nullable) out["nullable"] = true;
      } else {
        set_properties(out, in, depth);
      }
    } else if (type == "array") {
      out["type"] = "array";
      const auto* items = json::find_object(in, "items");
      out["items"] = items ? clean(*items, depth + 1) : object{{"type", "string"}};
    } else if (type == "string") {
      out["type"] = "string";
      set_enum(out, in);
      if (json::find_string(in, "format") == "date-time") out["format"] = "date-time";
    } else if (type == "integer" || type == "number" || type == "boolean") {
      out["type"] = type;
    }
  }

  void set_properties(object& out, const object& in, int depth) const {
    object properties;
    for (const auto& [name, property] : *json::find_object(in, "properties"))
      properties[name] = property.is_object() ? clean(property.as_object(), depth + 1)
                                              : object{{"type", "string"}};
    array required;
    if (const auto* names = json::find_array(in, "required"))
      for (const auto& name : *names)
        if (name.is_string() && properties.contains(name.as_string()) &&
            std::find(required.begin(), required.end(), name) == required.end())
          required.push_back(name);
    out["type"] = "object";
    out["properties"] = std::move(properties);
    if (!required.empty()) out["required"] = std::move(required);
  }

  static void set_enum(object& out, const object& in) {
    array words;
    if (const auto* all = json::find_array(in, "enum")) {
      for (const auto& word : *all)
        if (word.is_string() && !word.as_string().empty()) words.push_back(word);
    } else if (const auto only = json::find_string(in, "const"); only && !only->empty()) {
      words.push_back(value(*only));
    }
    if (!words.empty()) out["enum"] = std::move(words);
  }

  const object& root_;
};

}  // namespace

std::optional<json::object> cleaned_schema(const json::object& parameters) {
  auto out = Schemas(parameters).clean(parameters, 0);
  if (!json::find_object(out, "properties")) return std::nullopt;
  return out;
}

void restore_arguments(json::object& arguments, const json::object& parameters) {
  value whole(std::move(arguments));
  Schemas(parameters).restore(whole, parameters, 0);
  arguments = std::move(whole.as_object());
}

}  // namespace reef::model::google
