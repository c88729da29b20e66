// Reads secrets from elsewhere than the command line, where `ps` and the shell's history would show
// them.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace reef::cli {

// Asks `question` on stderr and returns a line of standard input without spaces around it; Enter
// alone means `otherwise`. ask_hidden does not show on a terminal what is typed.
Result<std::string> ask_for(std::string_view question, const std::string& otherwise);
Result<std::string> ask_hidden(std::string_view question, const std::string& otherwise);

// The secret an option means: `-` is the next line of standard input, anything else the secret
// itself. An empty line is an error that names `what`. Call it once for each option, in the order
// in which the user should type them.
Result<std::string> read_secret(std::string_view given, std::string_view what);

// The value of a variable that was named without one: from this program's environment, else the
// next line of standard input.
Result<std::string> read_variable(const std::string& name);

// Warns on stderr that others can see `given`, unless it only names where the secret is.
void warn_of_open_secret(std::string_view given, std::string_view option);

}  // namespace reef::cli
