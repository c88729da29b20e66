#include "secret.h"

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <unistd.h>

#include <fmt/format.h>
#include <termios.h>

#include "base/text.h"
#include "base/utf8.h"

namespace reef::cli {
namespace {

// While it lives, the terminal does not show what is typed.
class Hidden {
 public:
  Hidden() : on_(::isatty(STDIN_FILENO) == 1 && ::tcgetattr(STDIN_FILENO, &before_) == 0) {
    if (!on_) return;
    auto quiet = before_;
    quiet.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    ::tcsetattr(STDIN_FILENO, TCSANOW, &quiet);
  }
  ~Hidden() {
    if (!on_) return;
    ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
    std::fputc('\n', stderr);
  }
  Hidden(const Hidden&) = delete;
  Hidden& operator=(const Hidden&) = delete;

 private:
  termios before_ = {};
  bool on_;
};

bool on_terminal() {
  return ::isatty(STDIN_FILENO) == 1;
}

}  // namespace

Result<std::string> ask_for(std::string_view question, const std::string& otherwise) {
  const auto hint = otherwise.empty() ? std::string() : fmt::format(" [{}]", otherwise);
  std::fputs(fmt::format("{}{}: ", question, hint).c_str(), stderr);
  std::string line;
  if (!std::getline(std::cin, line)) {
    std::fputc('\n', stderr);
    return Error(Errc::cancelled, "no answer; nothing was changed");
  }
  const auto words = trim(line, kBlanks);
  return words.empty() ? otherwise : std::string(words);
}

Result<std::string> ask_hidden(std::string_view question, const std::string& otherwise) {
  const Hidden hidden;
  return ask_for(question, otherwise);
}

Result<std::string> read_secret(std::string_view given, std::string_view what) {
  if (given != "-") return std::string(given);
  std::string line;
  if (on_terminal()) {
    REEF_TRY(line, ask_hidden(what, ""));
  } else if (!std::getline(std::cin, line)) {
    return Error(Errc::invalid,
                 fmt::format("{} was to come from standard input, which ended", what));
  }
  line = trim(line, kBlanks);
  if (line.empty())
    return Error(Errc::invalid, fmt::format("{} is empty; nothing was changed", what));
  if (!utf8::valid(line)) return Error(Errc::invalid, fmt::format("{} must be UTF-8", what));
  return line;
}

Result<std::string> read_variable(const std::string& name) {
  if (const char* here = std::getenv(name.c_str())) {
    if (!utf8::valid(here))
      return Error(Errc::invalid, fmt::format("the variable {} is not UTF-8", name));
    return std::string(here);
  }
  return read_secret("-", name);
}

void warn_of_open_secret(std::string_view given, std::string_view option) {
  if (given.empty() || given.starts_with("env:") || given.starts_with("cmd:")) return;
  std::fputs(fmt::format("reef: what follows {0} can be seen by others on this machine and stays "
                         "in the shell's history; "
                         "`{0} -` reads it from standard input\n",
                         option)
                 .c_str(),
             stderr);
}

}  // namespace reef::cli
