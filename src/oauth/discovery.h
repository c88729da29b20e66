// From a server that refuses us to the authorization server it trusts. Loop thread.
#pragma once

#include "oauth/challenge.h"
#include "oauth/fetch.h"
#include "oauth/metadata.h"
#include "oauth/settings.h"

namespace reef::oauth {

struct Discovered {
  std::string resource;             // what tokens are asked for, as the server calls itself
  std::vector<std::string> scopes;  // it knows
  bool dpop = false;                // tokens are wanted that only we can use
  ServerMetadata server;
};

// The document of an issuer, wherever it is. not_found: it has none.
Task<Result<ServerMetadata>> find_server(Fetcher& fetcher, std::string issuer);

Task<Result<Discovered>> discover(Fetcher& fetcher, std::string server, Challenge challenge,
                                  const Settings& settings);

}  // namespace reef::oauth
