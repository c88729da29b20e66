// The `oauth` table of a server (docs/mcp.md): our identity towards its authorization server, and
// how a token is obtained. Plain values, pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <boost/json/fwd.hpp>

#include "base/result.h"

namespace reef::oauth {

enum class GrantKind : std::uint8_t {
  code,                // a user logs in with a browser
  client_credentials,  // the client acts for itself
  jwt_bearer,          // a JWT from an issuer that the server trusts: a workload's identity
  enterprise,          // the company's identity provider vouches for its user
};

struct Settings {
  GrantKind grant = GrantKind::code;
  std::string issuer = {};  // the only authorization server; empty: the one the server names

  std::string client_id = {};         // registered there by hand
  std::string client_secret = {};     // env:NAME, cmd:COMMAND or the secret itself
  std::string private_key_file = {};  // PEM of an EC P-256 key, instead of a secret
  std::string key_id = {};
  std::string auth_method = {};          // empty: chosen from those the server supports
  std::string client_metadata_url = {};  // a document about us; its address is the client id
  std::vector<std::string> scopes = {};  // empty: those the server asks for
  std::uint16_t redirect_port = 0;       // 0: any

  std::string assertion = {};  // for jwt_bearer: the JWT, given like client_secret

  // For enterprise: the identity provider, and the user's id token there, given like client_secret.
  std::string idp_issuer = {};
  std::string idp_client_id = {};
  std::string idp_client_secret = {};
  std::string id_token = {};

  bool operator==(const Settings&) const = default;
};

// Refuses unknown fields, naming them.
Result<Settings> settings_from(const boost::json::object& fields);
Status check(const Settings& settings);

// Returns every setting that differs from its default, as text; secrets are not masked.
std::map<std::string, std::string> words_of(const Settings& settings);
Settings masked(const Settings& settings);

// Names the settings that a login depends on; a secret may change without a new login.
std::string identity_of(const Settings& settings);

// True when no user has to log in.
inline bool is_unattended(const Settings& settings) {
  return settings.grant != GrantKind::code;
}

}  // namespace reef::oauth
