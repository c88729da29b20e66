#include "oauth/discovery.h"

#include <fmt/format.h>

#include "base/utf8.h"

namespace reef::oauth {
namespace {

std::string shown(std::string_view text) {
  return utf8::excerpt(utf8::printable(text));
}

// Returns nullopt when the server has no such document.
Task<Result<std::optional<ResourceMetadata>>> find_resource(Fetcher& fetcher, std::string server,
                                                            const Challenge& challenge) {
  auto places = resource_metadata_places(server);
  if (!challenge.resource_metadata.empty())
    places.insert(places.begin(), challenge.resource_metadata);
  for (const auto& place : places) {
    REEF_CO_TRY(const auto fetched, co_await fetcher.get(place));
    if (!fetched.good() || !fetched.document) continue;
    REEF_CO_TRY(auto metadata, resource_metadata_from(*fetched.document));
    // A token for another resource is of no use.
    if (!covers(metadata.resource, server))
      co_return Error(Errc::denied, fmt::format("the server's metadata is about {}, not about {}",
                                                shown(metadata.resource), shown(server)));
    co_return std::optional(std::move(metadata));
  }
  co_return std::optional<ResourceMetadata>();
}

}  // namespace

Task<Result<ServerMetadata>> find_server(Fetcher& fetcher, std::string issuer) {
  for (const auto& place : server_metadata_places(issuer)) {
    REEF_CO_TRY(const auto fetched, co_await fetcher.get(place));
    if (!fetched.good() || !fetched.document) continue;
    co_return server_metadata_from(*fetched.document, issuer);
  }
  co_return Error(Errc::not_found, fmt::format("the authorization server {} does not say how to "
                                               "log in",
                                               shown(issuer)));
}

Task<Result<Discovered>> discover(Fetcher& fetcher, std::string server, Challenge challenge,
                                  const Settings& settings) {
  const auto address = parse_address(server);
  if (!address)
    co_return Error(Errc::invalid, "the server's address is none that can be logged in to");
  // Drops the query, which may hold a secret.
  const auto plain = origin_of(*address) + address->path;
  Discovered out;
  REEF_CO_TRY(const auto resource, co_await find_resource(fetcher, plain, challenge));
  auto issuer = settings.issuer;
  if (resource && !resource->authorization_servers.empty()) {
    if (issuer.empty()) {
      issuer = resource->authorization_servers.front();
    } else if (!contains(resource->authorization_servers, issuer)) {
      // Our client at one issuer must not be shown to another.
      co_return Error(Errc::denied,
                      fmt::format("the server does not take logins of {}, which oauth.issuer "
                                  "names, but of {}",
                                  issuer, shown(joined(resource->authorization_servers))));
    }
  }
  out.resource = resource ? resource->resource : plain;
  if (resource) out.scopes = resource->scopes;
  // Before 2025-06-18 a server was its own authorization server.
  const bool old = issuer.empty();
  if (old) issuer = origin_of(*address);
  auto found = co_await find_server(fetcher, issuer);
  if (!found && found.error().code == Errc::not_found && old && !resource) {
    out.server = guessed_metadata(issuer);
  } else {
    REEF_CO_TRY(out.server, std::move(found));
  }
  const bool wanted = challenge.dpop || (resource && resource->dpop_required);
  out.dpop = wanted && contains(out.server.dpop_algorithms, "ES256");
  co_return out;
}

}  // namespace reef::oauth
