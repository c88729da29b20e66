// Token endpoints, and what comes from them. Loop thread.
#pragma once

#include "oauth/client.h"

namespace reef::oauth {

// What an authorization server has given us. Holds secrets; never shown.
struct Grant {
  std::string server;    // whose address it was got for
  std::string identity;  // by which settings (identity_of)
  std::string issuer, resource;
  std::string token_endpoint, revocation_endpoint;
  Registration client;  // the id always, the rest where the server made it for us

  std::string access_token, refresh_token;
  std::string dpop_key;                   // PEM; empty: a bearer token
  TimePoint expires = {}, renew_at = {};  // the epoch: not said
  std::vector<std::string> requested, granted;
};
json::object to_json(const Grant& grant);
std::optional<Grant> grant_from(const json::object& fields);
json::object to_json(const Registration& registration);
std::optional<Registration> registration_from(const json::object& fields);

// Takes what a token endpoint answered into a grant.
Status take_tokens(const json::object& answer, TimePoint now, Grant& into);

struct TokenRequest {
  std::string endpoint, issuer;
  Client client;
  Parameters parameters;
  std::string dpop_key = {};  // PEM
};
// Errors: `unauthorized` when what was shown is worth nothing (any more), `denied` when it is not
// enough, others when it may be tried again.
Task<Result<json::object>> request_tokens(Fetcher& fetcher, TokenRequest request);

// RFC 7009. False when the server would not.
Task<bool> revoke(Fetcher& fetcher, Grant grant, Client client);

}  // namespace reef::oauth
