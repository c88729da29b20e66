// The `oauth` table of a server (docs/mcp.md): who we are towards its authorization server, and how
// a token is got. Plain values, pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <boost/json/fwd.hpp>

#include "base/result.h"

namespace reef::oauth {

enum class GrantKind : std::uint8_t {
  code,                // a user logs in, in a browser
  client_credentials,  // the client is nobody's but its own
  jwt_bearer,          // a JWT of somebody the server trusts: a workload's identity
  enterprise,          // the company's identity provider speaks for its user
};

struct Settings {
  GrantKind grant = GrantKind::code;
  std::string issuer = {};  // only this authorization server; empty: the one the server names

  std::string client_id = {};         // registered there by hand
  std::string client_secret = {};     // env:NAME, cmd:COMMAND or the words
  std::string private_key_file = {};  // PEM of an EC P-256 key, instead of a secret
  std::string key_id = {};
  std::string auth_method = {};          // empty: chosen from what the server takes
  std::string client_metadata_url = {};  // a document that says who we are; its address is the id
  std::vector<std::string> scopes = {};  // empty: those the server asks for
  std::uint16_t redirect_port = 0;       // 0: any

  std::string assertion = {};  // jwt_bearer: the JWT, as client_secret

  // enterprise: the identity provider, and the user's id token there, as client_secret.
  std::string idp_issuer = {};
  std::string idp_client_id = {};
  std::string idp_client_secret = {};
  std::string id_token = {};

  bool operator==(const Settings&) const = default;
};

// What is not known is refused by name.
Result<Settings> settings_from(const boost::json::object& fields);
Status check(const Settings& settings);

// Every setting that is not its default, in words; secrets as they are.
std::map<std::string, std::string> words_of(const Settings& settings);
Settings masked(const Settings& settings);

// What logins have in common: a secret may change without another login.
std::string identity_of(const Settings& settings);

// Nobody has to be asked.
inline bool is_unattended(const Settings& settings) {
  return settings.grant != GrantKind::code;
}

}  // namespace reef::oauth
