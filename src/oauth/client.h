// Our identity as a client of an authorization server, and its proof. Loop thread.
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
  std::optional<SigningKey> key = {};  // for private_key_jwt
  std::string key_id = {};
};

// A client that a server registered for us; only that server knows it.
struct Registration {
  std::string issuer, id, secret, method, redirect_uri;
  std::int64_t expires = 0;  // in seconds; 0: never

  bool operator==(const Registration&) const = default;
};
// Tells a registered client from that of the settings, of which a grant records only the id.
inline bool is_registered(const Registration& registration) {
  return !registration.redirect_uri.empty();
}
Client client_of(const Registration& registration);

// Returns the client of the settings, with its secret fetched. `said` lists the methods that the
// server supports.
Task<Result<Client>> configured_client(const Needs& needs, Settings settings,
                                       std::vector<std::string> said);

// Registers a client (RFC 7591).
Task<Result<Registration>> register_client(Fetcher& fetcher, ServerMetadata server,
                                           std::string redirect_uri,
                                           std::vector<std::string> scopes);

// Adds to a token request whatever proves that it comes from this client.
void prove(const Client& client, const std::string& issuer, std::int64_t now,
           Parameters& parameters, http::Headers& headers);

}  // namespace reef::oauth
