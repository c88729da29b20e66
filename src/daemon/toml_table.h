// Reads one table of a TOML file: known keys into variables, the first bad value as an error with
// its place, every other key as a warning. Used by the .cpp files of daemon/ only.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "base/result.h"

namespace reef::daemon {

inline Result<toml::table> parse_toml(std::string_view text, std::string_view file) {
  try {
    return toml::parse(text, file);
  } catch (const toml::parse_error& error) {
    return Error(Errc::invalid,
                 fmt::format("{}:{}: {}", file, error.source().begin.line, error.description()));
  }
}

// Reads known keys of one table; remembers the first bad value and every unknown key.
class Table {
 public:
  Table(const toml::table& table, std::string_view file, std::string prefix)
      : table_(table), file_(file), prefix_(std::move(prefix)) {}

  void read(std::string_view key, std::string& into) {
    if (const auto* node = find(key)) {
      if (const auto value = node->value_exact<std::string>()) {
        into = *value;
      } else {
        refuse(key, *node, "must be a string");
      }
    }
  }

  void read(std::string_view key, bool& into) {
    if (const auto* node = find(key)) {
      if (const auto value = node->value_exact<bool>()) {
        into = *value;
      } else {
        refuse(key, *node, "must be true or false");
      }
    }
  }

  template <class Number>
  void read(std::string_view key, std::int64_t min, std::int64_t max, Number& into) {
    if (const auto* node = find(key)) {
      const auto value = node->value_exact<std::int64_t>();
      if (value && *value >= min && *value <= max) {
        into = static_cast<Number>(*value);
      } else {
        refuse(key, *node, fmt::format("must be a whole number from {} to {}", min, max));
      }
    }
  }

  void read(std::string_view key, double min, double max, std::optional<double>& into) {
    if (const auto* node = find(key)) {
      const auto value = node->value<double>();
      if (value && node->is_number() && *value >= min && *value <= max) {
        into = *value;
      } else {
        refuse(key, *node, fmt::format("must be a number from {} to {}", min, max));
      }
    }
  }

  void read(std::string_view key, std::vector<std::string>& into) {
    const auto* node = find(key);
    if (!node) return;
    const auto* list = node->as_array();
    if (!list) {
      refuse(key, *node, "must be a list of strings");
      return;
    }
    into.clear();
    for (const auto& item : *list) {
      const auto text = item.value_exact<std::string>();
      if (!text || text->empty()) {
        refuse(key, item, "must be a list of strings");
        return;
      }
      into.push_back(*text);
    }
  }

  // The sub-table, or nullptr; a value of another type is refused.
  const toml::table* sub(std::string_view key) {
    const auto* node = find(key);
    if (!node) return nullptr;
    if (const auto* table = node->as_table()) return table;
    refuse(key, *node, "must be a table");
    return nullptr;
  }

  void refuse(std::string_view key, const toml::node& node, std::string why) {
    if (error_) return;
    error_ = Error(Errc::invalid, place(key, node) + ": " + std::move(why));
  }

  const toml::node* find(std::string_view key) {
    known_.emplace_back(key);
    return table_.get(key);
  }

  std::string place(std::string_view key, const toml::node& node) const {
    return fmt::format("{}:{}: {}{}", file_, node.source().begin.line, prefix_, key);
  }

  // Call last: returns the first error, and adds a warning for each unknown key.
  Status finish(std::vector<std::string>& warnings) {
    for (const auto& [key, node] : table_)
      if (std::find(known_.begin(), known_.end(), key.str()) == known_.end())
        warnings.push_back(place(key.str(), node) + ": unknown key, ignored");
    if (error_) return *error_;
    return Ok{};
  }

 private:
  const toml::table& table_;
  std::string_view file_;
  std::string prefix_;
  std::vector<std::string> known_;
  std::optional<Error> error_;
};

}  // namespace reef::daemon
