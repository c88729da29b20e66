// `reef mcp login` and `logout`: the daemon does the work, this shows it.
#pragma once

#include <string>

#include "context.h"

namespace reef::cli {

// Prints the page to visit and tells how the login ended. When the browser cannot reach the daemon,
// takes the address it came back to from stdin.
Task<Status> mcp_login(const Context& context, client::Client& client, std::string agent,
                       std::string name);
Task<Status> mcp_logout(const Context& context, client::Client& client, std::string agent,
                        std::string name);

}  // namespace reef::cli
