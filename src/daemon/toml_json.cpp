#include "daemon/toml_json.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/toml_lines.h"
#include "base/utf8.h"

namespace reef::daemon {
json::value to_json(const toml::node& node) {
  if (const auto* table = node.as_table()) {
    json::object out;
    for (const auto& [key, value] : *table) out[key.str()] = to_json(value);
    return out;
  }
  if (const auto* array = node.as_array()) {
    json::array out;
    for (const auto& value : *array) out.push_back(to_json(value));
    return out;
  }
  if (const auto value = node.value_exact<bool>()) return *value;
  if (const auto value = node.value_exact<std::int64_t>()) return *value;
  if (const auto value = node.value_exact<double>()) return *value;
  if (const auto value = node.value_exact<std::string>()) return json::value(*value);
  std::ostringstream text;
  node.visit([&](const auto& value) {
    if constexpr (toml::is_date<decltype(value)> || toml::is_time<decltype(value)> ||
                  toml::is_date_time<decltype(value)>)
      text << value;
  });
  return json::value(text.str());
}

std::string toml_key(std::string_view key) {
  const bool bare = !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  });
  return bare ? std::string(key) : toml_quoted(key);
}

Result<std::string> toml_value(const json::value& value) {
  if (const auto* text = value.if_string()) {
    if (!utf8::valid(*text)) return Error(Errc::invalid, "a text must be UTF-8");
    return toml_quoted(*text);
  }
  if (value.is_bool()) return std::string(value.get_bool() ? "true" : "false");
  if (value.is_int64()) return fmt::format("{}", value.get_int64());
  if (value.is_uint64()) return Error(Errc::invalid, "a whole number has at most 63 bits");
  if (value.is_double()) {
    auto out = fmt::format("{}", value.get_double());
    if (out.find_first_of(".en") == std::string::npos) out += ".0";
    return out;
  }
  std::vector<std::string> items;
  if (const auto* list = value.if_array()) {
    for (const auto& item : *list) {
      REEF_TRY(auto text, toml_value(item));
      items.push_back(std::move(text));
    }
    return fmt::format("[{}]", fmt::join(items, ", "));
  }
  if (const auto* fields = value.if_object()) {
    for (const auto& [key, field] : *fields) {
      REEF_TRY(const auto text, toml_value(field));
      items.push_back(fmt::format("{} = {}", toml_key(key), text));
    }
    return items.empty() ? std::string("{}") : fmt::format("{{ {} }}", fmt::join(items, ", "));
  }
  return Error(Errc::invalid, "null cannot stand inside a list or a table");
}

}  // namespace reef::daemon
