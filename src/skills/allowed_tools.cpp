#include "skills/allowed_tools.h"

#include <algorithm>

#include "base/utf8.h"

namespace reef::skills {
namespace {

constexpr std::size_t kItemsMax = 256;

struct Item {
  std::string tool;  // lower case
  std::string beginning;
  bool open = false;  // anything may follow the beginning
  bool has_pattern = false;
  bool good = true;
};

Item parse(std::string_view text) {
  Item out;
  const auto bracket = text.find('(');
  out.tool = utf8::lower_ascii(text.substr(0, bracket));
  if (out.tool.empty() || text.find(')') < bracket) out.good = false;
  if (bracket == std::string_view::npos) return out;
  out.has_pattern = true;
  auto pattern = text.substr(bracket + 1);
  if (!pattern.ends_with(')')) {
    out.good = false;
    return out;
  }
  pattern.remove_suffix(1);
  if (pattern.ends_with(":*") || pattern.ends_with(" *")) {
    out.open = true;
    pattern.remove_suffix(2);
  } else if (pattern == "*") {
    out.open = true;
    pattern = {};
  }
  out.beginning = utf8::single_line(pattern);
  if (out.tool != "bash") out.good = false;
  return out;
}

// True when nothing in it could start another command, redirect output or expand to either.
bool is_simple(std::string_view command) {
  return command.find_first_of(";&|<>$`(){}\n\r\\") == std::string_view::npos;
}

bool fits(const Item& item, std::string_view command) {
  if (item.open && item.beginning.empty()) return true;
  if (!is_simple(command)) return false;
  const auto line = utf8::single_line(command);
  if (line == item.beginning) return true;
  return item.open && line.starts_with(item.beginning + " ");
}

}  // namespace

std::vector<std::string> split_allowed(std::string_view text) {
  std::vector<std::string> out;
  std::string part;
  int depth = 0;
  const auto finish = [&] {
    if (!part.empty() && out.size() < kItemsMax) out.push_back(part);
    part.clear();
  };
  for (const char c : text) {
    if (c == '(') ++depth;
    if (c == ')' && depth > 0) --depth;
    if (depth == 0 && (c == ' ' || c == ',' || c == '\t' || c == '\n' || c == '\r')) {
      finish();
    } else {
      part += c;
    }
  }
  finish();
  return out;
}

std::string problem_of(std::string_view text) {
  const auto item = parse(text);
  if (item.good) return {};
  if (item.has_pattern && item.tool != "bash" && text.ends_with(')'))
    return "only bash may have something in brackets; this lets nothing through";
  return "this is no name of a tool; it lets nothing through";
}

bool allows(std::span<const std::string> allowed, std::string_view tool,
            const json::object& arguments) {
  if (allowed.empty()) return true;
  const auto wanted = utf8::lower_ascii(tool);
  return std::any_of(allowed.begin(), allowed.end(), [&](const auto& text) {
    const auto item = parse(text);
    if (!item.good || item.tool != wanted) return false;
    return !item.has_pattern || fits(item, json::find_string(arguments, "command").value_or(""));
  });
}

}  // namespace reef::skills
