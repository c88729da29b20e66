// Whose machine the host of a URL is, as far as its spelling tells: nothing is looked up. Pure
// functions.
#pragma once

#include <string>
#include <string_view>

namespace reef::http {

// The host of a URL, or of what stands behind a scheme that was left out: in lower case, without
// user names, port and brackets.
std::string host_in(std::string_view url);

// Both take a host as host_in() gives it.
bool is_loopback_host(const std::string& host);
// A number of this machine or of a private network, in any spelling that resolvers take for one.
bool is_inner_host(const std::string& host);

}  // namespace reef::http
