#include "hooks/os/environment.h"

#include <ctime>
#include <fstream>
#include <sys/utsname.h>

#include <fmt/format.h>

#include "base/utf8.h"

namespace reef::hooks::os {
namespace {

// The system's name in /etc/os-release, without its quotes.
std::string name_of_system() {
  constexpr std::string_view kKey = "PRETTY_NAME=";
  std::ifstream file("/etc/os-release");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(kKey)) continue;
    auto value = line.substr(kKey.size());
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"')
      value = value.substr(1, value.size() - 2);
    return utf8::excerpt(utf8::single_line(utf8::printable(utf8::sanitize(value))));
  }
  return "Linux";
}

std::string describe_machine() {
  utsname name = {};
  if (::uname(&name) != 0) return name_of_system();
  return fmt::format("linux ({}, {})", name_of_system(), name.machine);
}

std::string day_of(TimePoint now) {
  const auto seconds = std::chrono::system_clock::to_time_t(
      std::chrono::time_point_cast<std::chrono::system_clock::duration>(now));
  std::tm local = {};
  char text[64] = {};
  if (!::localtime_r(&seconds, &local) || std::strftime(text, sizeof text, "%F, %A", &local) == 0)
    return format_iso(now).substr(0, 10);
  return text;
}

}  // namespace

std::string environment_block(const std::string& folder, TimePoint now) {
  static const std::string machine = describe_machine();
  return fmt::format(
      "<environment>\nos: {}\nshell: bash, a new one for every command\nworking directory: "
      "{}\ndate: {}\n"
      "</environment>",
      machine,
      folder.empty() ? std::string("a folder of this conversation's own")
                     : utf8::single_line(utf8::printable(utf8::sanitize(folder))),
      day_of(now));
}

}  // namespace reef::hooks::os
