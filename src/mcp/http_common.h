// Code shared by both transports over HTTP. Internal to transport.h.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "http/http.h"
#include "http/sse.h"
#include "mcp/transport.h"

namespace reef::mcp {

// The peer limits how long a call takes; these limits only end hopeless requests.
inline constexpr http::Timeouts kHttpTimeouts{std::chrono::milliseconds(15'000),
                                              std::chrono::hours(24), std::chrono::hours(24)};

// How much a refusal matters to the connection.
enum class Weight : std::uint8_t {
  counts,
  aside,  // a message of the server's own, or a goodbye: its refusal does not count
};

// Sends a request with the server's headers and credential. If the token is refused it is renewed,
// if possible, and the request is repeated. Additional errors: unauthorized when somebody has to
// log in, denied when that would not help.
Task<Result<http::Response>> send_to(http::Client& client, const Resolved& server,
                                     http::Request request, http::Timeouts timeouts,
                                     Weight weight = Weight::counts);

bool is_event_stream(const http::Response& answer);

// Makes an error of an unsuccessful status. `had_session`: the request named a session.
Error status_error(int status, bool had_session, const Resolved& server, std::string_view body);

// Resolves an address against `base`. Only the same host is allowed, because the address receives
// the credential.
Result<std::string> resolve_address(std::string_view base, std::string_view address);

}  // namespace reef::mcp
