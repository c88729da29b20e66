// Shows the state of a session and what fills its window, for people and as JSON.
#pragma once

#include "client/client.h"
#include "context.h"

namespace reef::cli {

// "18.2k"
std::string short_count(std::int64_t tokens);
// The session's agent and the person who talks with it, as far as they are known.
std::string speakers_of(const protocol::SessionRow& row);
// "18.2k of 200.0k tokens (10 %)": the total leaves out what is kept free.
std::string shown_usage(const protocol::ContextUsage& usage);
json::object to_json(const protocol::ContextUsage& usage);

Task<Result<protocol::SessionDescription>> describe(client::Client& client,
                                                    protocol::DescribeSession request);
void print_session(const Context& context, const protocol::SessionDescription& session);

Task<Status> show_window(const Context& context, client::Client& client, std::string id);
// Asks for a title, or sets the one that is given.
Task<Status> change_title(const Context& context, client::Client& client, std::string id,
                          std::string title, bool replace);

}  // namespace reef::cli
