// What both transports over HTTP share. Behind transport.h.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "http/http.h"
#include "http/sse.h"
#include "mcp/transport.h"

namespace reef::mcp {

// How long a call may take is the peer's business; here only what is never right.
inline constexpr http::Timeouts kHttpTimeouts{std::chrono::milliseconds(15'000),
                                              std::chrono::hours(24), std::chrono::hours(24)};

// Whether a refusal concerns the whole connection.
enum class Weight : std::uint8_t {
  counts,
  aside,  // what the server says on its own, and goodbyes
};

// Sends with what every request to this server carries: its headers and its credential. A token
// that is refused is renewed where that can be, and the request sent again. Errors also:
// unauthorized when somebody has to log in, denied when that would not help.
Task<Result<http::Answer>> send_to(http::Client& client, const Resolved& server,
                                   http::Request request, http::Timeouts timeouts,
                                   Weight weight = Weight::counts);

bool is_event_stream(const http::Answer& answer);

// What a status that is no success means. `had_session`: the request named one.
Error status_error(int status, bool had_session, const Resolved& server, std::string_view body);

// An address as `base` means it; only of the same host: what is sent there carries the credential.
Result<std::string> resolve_address(std::string_view base, std::string_view address);

}  // namespace reef::mcp
