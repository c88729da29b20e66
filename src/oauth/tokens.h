// Token endpoints and the grants they return. Loop thread.
#pragma once

#include "oauth/client.h"

namespace reef::oauth {

// A grant from an authorization server. It holds secrets and must never be shown.
struct Grant {
  std::string server;    // the address it was obtained for
  std::string identity;  // identity_of the settings used
  std::string issuer, resource;
  std::string token_endpoint, revocation_endpoint;
  Registration client;  // always has the id; the rest only if the server registered it

  std::string access_token, refresh_token;
  std::string dpop_key;                   // PEM; empty for a bearer token
  TimePoint expires = {}, renew_at = {};  // the epoch when unknown
  std::vector<std::string> requested, granted;
};
json::object to_json(const Grant& grant);
std::optional<Grant> grant_from(const json::object& fields);
json::object to_json(const Registration& registration);
std::optional<Registration> registration_from(const json::object& fields);

// Copies a token endpoint's answer into a grant.
Status take_tokens(const json::object& answer, TimePoint now, Grant& into);

struct TokenRequest {
  std::string endpoint, issuer;
  Client client;
  Parameters parameters;
  std::string dpop_key = {};  // PEM
};
// Errors: `unauthorized` when our credentials are no longer valid, `denied` when they do not
// suffice; after other errors the request may be repeated.
Task<Result<json::object>> request_tokens(Fetcher& fetcher, TokenRequest request);

// Revokes a grant (RFC 7009). False when the server refused.
Task<bool> revoke(Fetcher& fetcher, Grant grant, Client client);

}  // namespace reef::oauth
