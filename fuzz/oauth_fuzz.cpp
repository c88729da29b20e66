// Any refusal of a server, and any documents it points to, must be read or refused within bounds,
// and must never yield an address that we may not ask.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/assert.h"
#include "base/json.h"
#include "oauth/address.h"
#include "oauth/challenge.h"
#include "oauth/metadata.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* input, std::size_t size) {
  using namespace reef::oauth;
  const std::string bytes(reinterpret_cast<const char*>(input), size);
  const auto challenge = challenge_from({{"www-authenticate", bytes}});
  for (const auto& scope : challenge.scopes) {
    REEF_ASSERT(!scope.empty());
    for (const char c : scope) REEF_ASSERT(c > 0x20 && c < 0x7f);
  }
  REEF_ASSERT(scopes_from(joined(challenge.scopes)) == challenge.scopes);

  const Trust trust("https://mcp.example.org/mcp", {});
  if (const auto address = parse_address(bytes)) {
    const auto origin = origin_of(*address);
    const auto again = parse_address(origin + address->path);
    REEF_ASSERT(again && origin_of(*again) == origin && again->path == address->path);
    if (trust.may_ask(bytes)) REEF_ASSERT(address->scheme == "https" && !is_inner(*address));
    for (const auto& place : server_metadata_places(bytes)) REEF_ASSERT(place.starts_with(origin));
    for (const auto& place : resource_metadata_places(bytes))
      REEF_ASSERT(place.starts_with(origin));
  } else {
    REEF_ASSERT(!trust.may_ask(bytes));
  }
  // A parameter with a name must survive being written and read.
  for (const auto& [name, value] : from_form(bytes)) {
    const Parameters one{{name, value}};
    REEF_ASSERT(from_form(to_form(one)) == one);
  }

  if (const auto value = reef::json::parse(bytes); value && value->is_object()) {
    if (const auto resource = resource_metadata_from(value->get_object()))
      REEF_ASSERT(parse_address(resource->resource));
    if (const auto server = server_metadata_from(value->get_object(), "https://h"))
      REEF_ASSERT(server->issuer.starts_with("https://h") && !server->token_endpoint.empty());
  }
  return 0;
}
