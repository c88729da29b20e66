// Addresses on the web, as far as logging in has to tell them apart. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace reef::oauth {

// An absolute http or https address without user names in it.
struct Address {
  std::string scheme, host;  // in lower case; IPv6 hosts without brackets
  std::string port;          // empty: the scheme's own
  std::string path;          // empty or begins with a slash
  std::string query;         // without the question mark
};
std::optional<Address> parse_address(std::string_view text);
// scheme://host[:port], the same for everything that is sent to the same place.
std::string origin_of(const Address& address);
bool is_loopback(const Address& address);
// A number of this machine or of a private network.
bool is_inner(const Address& address);

// Where we may be sent to by the server at `server`: https, and never from the outside into this
// machine or a private network. Places of the server itself and those the user named are fine.
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
// Behind those the address has already.
std::string with_parameters(std::string url, const Parameters& parameters);

}  // namespace reef::oauth
