// Parses the metadata of protected resources (RFC 9728) and authorization servers (RFC 8414, OpenID
// Connect Discovery), and lists the places where they are. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace reef::oauth {

struct ResourceMetadata {
  std::string resource;
  std::vector<std::string> authorization_servers;
  std::vector<std::string> scopes;
  bool dpop_required = false;
};
// Returns the places in the order in which to ask them.
std::vector<std::string> resource_metadata_places(std::string_view server);
Result<ResourceMetadata> resource_metadata_from(const json::object& document);
// Tells whether metadata about `resource` holds for the server: it must be the same place or one
// above it.
bool covers(std::string_view resource, std::string_view server);

struct ServerMetadata {
  std::string issuer;
  std::string authorization_endpoint, token_endpoint;
  std::string registration_endpoint, revocation_endpoint;  // empty when there is none
  std::vector<std::string> scopes;
  std::vector<std::string> auth_methods;       // of the token endpoint; empty when not stated
  std::vector<std::string> challenge_methods;  // PKCE
  std::vector<std::string> dpop_algorithms;
  bool client_documents = false;  // a client's id may be the address of its document
  bool says_issuer = false;       // its answers name the issuer (RFC 9207)
  bool guessed = false;           // made without a document
};
std::vector<std::string> server_metadata_places(std::string_view issuer);
// Parses the document of `issuer`; refuses one that names another issuer.
Result<ServerMetadata> server_metadata_from(const json::object& document, std::string_view issuer);
// The endpoints that servers of 2025-03-26 had without a document.
ServerMetadata guessed_metadata(const std::string& origin);

}  // namespace reef::oauth
