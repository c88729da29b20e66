// Secrets that do not stand on the command line, where `ps` and the shell's history would show
// them.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace reef::cli {

// A line of standard input, for which `question` asks on stderr; Enter alone means `otherwise`, and
// spaces around the answer are left out. The hidden one is not shown while it is typed on a
// terminal.
Result<std::string> ask_for(std::string_view question, const std::string& otherwise);
Result<std::string> ask_hidden(std::string_view question, const std::string& otherwise);

// What an option means for a secret: `-` is the next line of standard input, anything else itself.
// An empty line is an error that names `what`. Call it once for each option, in the order the user
// should type them.
Result<std::string> read_secret(std::string_view given, std::string_view what);

// Of a variable that was named without a value: what it is in this program's environment, else the
// next line of standard input.
Result<std::string> read_variable(const std::string& name);

// Says on stderr that others can see `given`, unless it only names where the secret is.
void warn_of_open_secret(std::string_view given, std::string_view option);

}  // namespace reef::cli
