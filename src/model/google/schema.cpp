#include "model/google/schema.h"

#include <algorithm>
#include <map>
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
// A schema that holds itself several times grows by a power of its depth: what is beyond this is a
// string of JSON too.
constexpr std::size_t kNodesMax = 4000;
constexpr std::size_t kBytesMax = 1U << 20;  // of titles, descriptions and the like

constexpr std::string_view kKept[] = {"title",    "description", "nullable",  "maxItems",
                                      "minItems", "minLength",   "maxLength", "pattern",
                                      "minimum",  "maximum"};

// The schemas of one tool; references are resolved from its root.
class Schemas {
 public:
  explicit Schemas(const object& root) : root_(root) {}

  object clean(const object& in, int depth) {
    if (depth > kDepthMax || ++nodes_ > kNodesMax || bytes_ > kBytesMax) return any_shape({});
    if (const auto* target = referred(in)) return clean(*target, depth + 1);
    if (const auto* all = merged(in)) return clean(*all, depth + 1);
    if (const auto* choices = choices_of(in)) return clean_choices(*choices, kept(in), depth);

    const auto types = types_of(in);
    if (types.size() - types.count("null") <= 1) {
      auto out = kept(in);
      if (types.contains("null")) out["nullable"] = true;
      for (const auto& type : types)
        if (type != "null") set_type(out, type, in, depth);
      if (!out.contains("type")) out["type"] = "string";
      return out;
    }
    array choices;
    for (const auto& type : types) {
      if (type == "null") continue;
      auto one = kept(in);
      one.erase("description");
      set_type(one, type, in, depth + 1);
      choices.push_back(std::move(one));
    }
    auto described = kept(in);
    if (types.contains("null")) described["nullable"] = true;
    return joined(std::move(choices), described);
  }

  void restore(value& argument, const object& schema, int depth) {
    if (depth > kDepthMax || ++nodes_ > kNodesMax) return;
    if (const auto* target = referred(schema)) return restore(argument, *target, depth + 1);
    if (const auto* all = merged(schema)) return restore(argument, *all, depth + 1);
    if (const auto* choices = choices_of(schema)) {
      // A string stays one where a string is asked for.
      const bool is_text = argument.is_string() && takes_text(*choices);
      for (const auto& choice : *choices)
        if (!is_text && choice.is_object()) restore(argument, choice.as_object(), depth + 1);
      return;
    }
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
    } else if (const auto types = types_of(schema);
               argument.is_string() && types.contains("object") && !types.contains("string")) {
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

  // Gemini takes these beside the type.
  object kept(const object& in) {
    object out;
    for (const auto key : kKept) {
      const auto* found = in.if_contains(key);
      if (!found || found->is_null()) continue;
      if (found->is_string()) bytes_ += found->as_string().size();
      out[key] = *found;
    }
    return out;
  }

  bool takes_text(const array& choices) const {
    return std::any_of(choices.begin(), choices.end(), [this](const value& choice) {
      const auto* one = choice.if_object();
      if (one)
        if (const auto* target = referred(*one)) one = target;
      return one && types_of(*one).contains("string");
    });
  }

  // Merges allOf into one schema, once for each.
  const object* merged(const object& in) {
    const auto* all = json::find_array(in, "allOf");
    if (!all) return nullptr;
    const auto [known, is_new] = merged_.try_emplace(&in);
    if (!is_new) return &known->second;
    auto& out = known->second;
    out = in;
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
    return &out;
  }

  static const array* choices_of(const object& in) {
    for (const auto* key : {"anyOf", "oneOf"})
      if (const auto* found = json::find_array(in, key); found && !found->empty()) return found;
    return nullptr;
  }

  static bool is_type(std::string_view word) {
    constexpr std::string_view kTypes[] = {"array",  "boolean", "integer", "null",
                                           "number", "object",  "string"};
    return std::find(std::begin(kTypes), std::end(kTypes), word) != std::end(kTypes);
  }

  static std::set<std::string> types_of(const object& in) {
    std::set<std::string> out;
    if (const auto type = json::find_string(in, "type")) {
      out.emplace(*type);
    } else if (const auto* several = json::find_array(in, "type")) {
      for (const auto& item : *several)
        if (item.is_string() && is_type(item.as_string())) out.emplace(item.as_string());
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
  object clean_choices(const array& choices, object out, int depth) {
    array cleaned;
    for (const auto& item : choices) {
      const auto* choice = item.if_object();
      if (!choice) continue;
      if (json::find_string(*choice, "type") == "null") {
        out["nullable"] = true;
        continue;
      }
      cleaned.push_back(clean(*choice, depth + 1));
    }
    return joined(std::move(cleaned), out);
  }

  static object joined(array choices, const object& description) {
    object out;
    if (choices.size() == 1) {
      out = std::move(choices[0].as_object());
    } else if (choices.empty()) {
      out["type"] = "string";
    } else {
      out["anyOf"] = std::move(choices);
    }
    if (const auto words = json::find_string(description, "description"))
      out["description"] = *words;
    if (description.contains("nullable")) out["nullable"] = true;
    return out;
  }

  void set_type(object& out, const std::string& type, const object& in, int depth) {
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

  void set_properties(object& out, const object& in, int depth) {
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
  std::map<const object*, object>
      merged_;  // by the schema with allOf; its members stay where they are
  std::size_t nodes_ = 0;
  std::size_t bytes_ = 0;
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
