// Parses the refusal of a request: WWW-Authenticate (RFC 9110, 6750, 9728). Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http/http.h"

namespace reef::oauth {

struct AuthScheme {
  std::string name;                                             // in lower case
  std::vector<std::pair<std::string, std::string>> parameters;  // names in lower case
};
// Returns whatever can be understood; accepts any bytes.
std::vector<AuthScheme> schemes_from(std::string_view header);

// A challenge that we can answer: Bearer or DPoP.
struct Challenge {
  bool dpop = false;
  std::string resource_metadata;  // address of the server's metadata
  std::string error;              // invalid_token, insufficient_scope, use_dpop_nonce
  std::vector<std::string> scopes;
};
// Finds the challenge in an answer's headers; empty when there is none.
Challenge challenge_from(const http::Headers& headers);

// Returns the words between spaces, each once.
std::vector<std::string> scopes_from(std::string_view text);
std::string joined(const std::vector<std::string>& scopes);
// Returns the scopes of both, each once, in order.
std::vector<std::string> united(std::vector<std::string> scopes,
                                const std::vector<std::string>& more);
bool contains(const std::vector<std::string>& list, std::string_view word);
bool contains_all(const std::vector<std::string>& list, const std::vector<std::string>& words);

}  // namespace reef::oauth
