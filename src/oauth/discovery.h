// Finds the authorization server that a refusing server trusts. Loop thread.
#pragma once

#include "oauth/challenge.h"
#include "oauth/fetch.h"
#include "oauth/metadata.h"
#include "oauth/settings.h"

namespace reef::oauth {

struct Discovered {
  std::string resource;             // what tokens are for, as the server names itself
  std::vector<std::string> scopes;  // scopes that the server supports
  bool dpop = false;                // tokens must be bound to our key
  ServerMetadata server;
};

// Fetches the document of an issuer from one of its possible places. Fails with not_found when
// there is none.
Task<Result<ServerMetadata>> find_server(Fetcher& fetcher, std::string issuer);

Task<Result<Discovered>> discover(Fetcher& fetcher, std::string server, Challenge challenge,
                                  const Settings& settings);

}  // namespace reef::oauth
