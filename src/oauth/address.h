// Web addresses, as far as logins must distinguish them. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace reef::oauth {

// An absolute http or https address without user names.
struct Address {
  std::string scheme, host;  // in lower case; IPv6 hosts without brackets
  std::string port;          // empty for the scheme's default
  std::string path;          // empty or begins with a slash
  std::string query;         // without the question mark
};
std::optional<Address> parse_address(std::string_view text);
// Returns scheme://host[:port], the same text for addresses of the same place.
std::string origin_of(const Address& address);
bool is_loopback(const Address& address);
// True for a literal address of this machine or of a private network.
bool is_inner(const Address& address);

// Decides which addresses the server at `server` may send us to: https only, and never from outside
// into this machine or a private network. Addresses of the server itself and those that the user
// named are always allowed.
class Trust {
 public:
  Trust(std::string_view server, const std::vector<std::string>& named);
  Status may_ask(std::string_view url) const;

 private:
  bool inner_ = false;
  std::vector<std::string> origins_;
};

// Names and values, in order.
using Parameters = std::vector<std::pair<std::string, std::string>>;
std::string to_form(const Parameters& parameters);
Parameters from_form(std::string_view text);
std::optional<std::string> find_parameter(const Parameters& parameters, std::string_view name);
// Appends parameters to those that the address has already.
std::string with_parameters(std::string url, const Parameters& parameters);

}  // namespace reef::oauth
