#include "oauth/metadata.h"

#include <fmt/format.h>

#include "base/utf8.h"
#include "oauth/address.h"
#include "oauth/challenge.h"

namespace reef::oauth {
namespace {

constexpr std::size_t kListMax = 500;

std::vector<std::string> texts(const json::object& in, std::string_view key) {
  std::vector<std::string> out;
  if (const auto* list = json::find_array(in, key))
    for (const auto& one : *list)
      if (const auto* text = one.if_string(); text && out.size() < kListMax)
        out.emplace_back(*text);
  return out;
}

std::string text(const json::object& in, std::string_view key) {
  return std::string(json::find_string(in, key).value_or(""));
}

std::string_view without_slash(std::string_view path) {
  while (path.ends_with('/')) path.remove_suffix(1);
  return path;
}

}  // namespace

std::vector<std::string> resource_metadata_places(std::string_view server) {
  constexpr std::string_view kPlace = "/.well-known/oauth-protected-resource";
  const auto address = parse_address(server);
  if (!address) return {};
  const auto root = origin_of(*address) + std::string(kPlace);
  const auto path = without_slash(address->path);
  if (path.empty()) return {root};
  return {root + std::string(path), root};
}

Result<ResourceMetadata> resource_metadata_from(const json::object& document) {
  ResourceMetadata out;
  out.resource = text(document, "resource");
  if (!parse_address(out.resource) || out.resource.find('#') != std::string::npos)
    return Error(Errc::invalid, "the server's metadata does not name the resource it is about");
  out.authorization_servers = texts(document, "authorization_servers");
  out.scopes = scopes_from(joined(texts(document, "scopes_supported")));
  out.dpop_required =
      json::find_bool(document, "dpop_bound_access_tokens_required").value_or(false);
  return out;
}

bool covers(std::string_view resource, std::string_view server) {
  const auto a = parse_address(resource), b = parse_address(server);
  if (!a || !b || origin_of(*a) != origin_of(*b)) return false;
  const auto above = without_slash(a->path);
  const std::string_view path = b->path;
  return path.starts_with(above) && (path.size() == above.size() || path[above.size()] == '/');
}

std::vector<std::string> server_metadata_places(std::string_view issuer) {
  const auto address = parse_address(issuer);
  if (!address) return {};
  const auto origin = origin_of(*address);
  const std::string path(without_slash(address->path));
  const std::string oauth = "/.well-known/oauth-authorization-server";
  const std::string openid = "/.well-known/openid-configuration";
  if (path.empty()) return {origin + oauth, origin + openid};
  return {origin + oauth + path, origin + openid + path, origin + path + openid};
}

Result<ServerMetadata> server_metadata_from(const json::object& document, std::string_view issuer) {
  ServerMetadata out;
  out.issuer = text(document, "issuer");
  // Servers disagree about a slash at the end, but both forms lead to the same documents.
  if (without_slash(out.issuer) != without_slash(issuer))
    return Error(
        Errc::denied,
        fmt::format("the authorization server {} says it is {}",
                    utf8::excerpt(utf8::printable(issuer)),
                    out.issuer.empty() ? "nobody" : utf8::excerpt(utf8::printable(out.issuer))));
  out.authorization_endpoint = text(document, "authorization_endpoint");
  out.token_endpoint = text(document, "token_endpoint");
  out.registration_endpoint = text(document, "registration_endpoint");
  out.revocation_endpoint = text(document, "revocation_endpoint");
  if (out.token_endpoint.empty())
    return Error(Errc::invalid, "the authorization server names no place that gives tokens");
  out.scopes = texts(document, "scopes_supported");
  out.auth_methods = texts(document, "token_endpoint_auth_methods_supported");
  out.challenge_methods = texts(document, "code_challenge_methods_supported");
  out.dpop_algorithms = texts(document, "dpop_signing_alg_values_supported");
  out.client_documents =
      json::find_bool(document, "client_id_metadata_document_supported").value_or(false);
  out.says_issuer =
      json::find_bool(document, "authorization_response_iss_parameter_supported").value_or(false);
  return out;
}

ServerMetadata guessed_metadata(const std::string& origin) {
  ServerMetadata out;
  out.issuer = origin;
  out.authorization_endpoint = origin + "/authorize";
  out.token_endpoint = origin + "/token";
  out.registration_endpoint = origin + "/register";
  out.challenge_methods = {"S256"};
  out.auth_methods = {"none"};
  out.guessed = true;
  return out;
}

}  // namespace reef::oauth
