#include "component/unit.h"

#include <fmt/format.h>

namespace reef::component {
namespace {

// Quotes a word as systemd.syntax expects it, with systemd's specifiers doubled.
std::string quoted(const std::string& word) {
  std::string out = "\"";
  for (const char c : word) {
    if (c == '"' || c == '\\') out.push_back('\\');
    if (c == '%' || c == '$') out.push_back(c);
    out.push_back(c);
  }
  return out + "\"";
}

}  // namespace

std::string systemd_unit(const Service& service, const std::vector<std::string>& command) {
  std::string line;
  for (const auto& word : command) line += (line.empty() ? "" : " ") + quoted(word);
  return fmt::format(
      "[Unit]\nDescription={}\n\n"
      "[Service]\nExecStart={}\nRestart=on-failure\nRestartSec=2\n\n"
      "[Install]\nWantedBy=default.target\n",
      service.description, line);
}

}  // namespace reef::component
