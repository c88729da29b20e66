// `reef mcp login` and `logout`: the daemon does it, this shows it.
#pragma once

#include <string>

#include "context.h"

namespace reef::cli {

// Prints the page to visit, takes the address the browser came back to from stdin where it cannot
// reach the daemon, and tells how it ended.
Task<Status> mcp_login(const Context& context, client::Client& client, std::string agent,
                       std::string name);
Task<Status> mcp_logout(const Context& context, client::Client& client, std::string agent,
                        std::string name);

}  // namespace reef::cli
