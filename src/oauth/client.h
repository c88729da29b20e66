// Who we are towards an authorization server, and how we prove it. Loop thread.
#pragma once

#include "oauth/fetch.h"
#include "oauth/jwt.h"
#include "oauth/metadata.h"
#include "oauth/settings.h"

namespace reef::oauth {

struct Client {
  std::string id;
  std::string secret = {};
  std::string method = "none";
  std::optional<SigningKey> key = {};  // private_key_jwt
  std::string key_id = {};
};

// A client a server has made for us; it is that server's only.
struct Registration {
  std::string issuer, id, secret, method, redirect_uri;
  std::int64_t expires = 0;  // seconds; 0: never

  bool operator==(const Registration&) const = default;
};
// Otherwise it only says which client it was: that of the settings.
inline bool is_registered(const Registration& registration) {
  return !registration.redirect_uri.empty();
}
Client client_of(const Registration& registration);

// The one of the settings, with its secret fetched. `said`: what the server takes.
Task<Result<Client>> configured_client(const House& house, Settings settings,
                                       std::vector<std::string> said);

// RFC 7591.
Task<Result<Registration>> register_client(Fetcher& fetcher, ServerMetadata server,
                                           std::string redirect_uri,
                                           std::vector<std::string> scopes);

// Adds to a request to a token endpoint what it has to carry to be of this client.
void prove(const Client& client, const std::string& issuer, std::int64_t now,
           Parameters& parameters, http::Headers& headers);

}  // namespace reef::oauth
