// The commands of `reef`, one function each; they return the exit code.
#pragma once

#include <optional>
#include <string>

#include "context.h"

namespace reef::cli {

struct ChatOptions {
  std::string agent;
  std::string sender;
  std::optional<std::string> message;  // -p: one turn
};
int run_chat(const Context& context, const ChatOptions& options);

int run_ping(const Context& context);
int run_status(const Context& context);
int run_sessions(const Context& context);
int run_show(const Context& context, const std::string& id);
int run_kill(const Context& context, const std::string& agent, const std::string& sender);
int run_reload(const Context& context);
int run_stop(const Context& context);

// The status as printed by `reef status`; also what an empty stdin gets from `reef chat`.
Task<Status> print_status(const Context& context, client::Client& client);

}  // namespace reef::cli
