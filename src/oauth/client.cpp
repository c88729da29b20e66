#include "oauth/client.h"

#include <fmt/format.h>

#include "base/base64.h"
#include "base/utf8.h"
#include "http/url.h"
#include "oauth/challenge.h"

namespace reef::oauth {
namespace {

// Tries our preferred methods first.
std::string method_with_secret(const std::vector<std::string>& said) {
  for (const std::string_view method : {"client_secret_basic", "client_secret_post"})
    if (contains(said, method)) return std::string(method);
  return "client_secret_basic";  // the default of RFC 8414
}

bool is_known(std::string_view method) {
  return method == "none" || method == "client_secret_basic" || method == "client_secret_post";
}

}  // namespace

Client client_of(const Registration& registration) {
  Client out;
  out.id = registration.id;
  out.secret = registration.secret;
  out.method = registration.method;
  return out;
}

Task<Result<Client>> configured_client(const Needs& needs, Settings settings,
                                       std::vector<std::string> said) {
  Client out;
  out.id = settings.client_id.empty() ? settings.client_metadata_url : settings.client_id;
  out.key_id = settings.key_id;
  if (!settings.client_secret.empty()) {
    auto secret = co_await needs.fetch(settings.client_secret);
    if (!secret) co_return std::move(secret).error().with("oauth.client_secret");
    out.secret = *std::move(secret);
    out.method = method_with_secret(said);
  }
  if (!settings.private_key_file.empty()) {
    auto read = [&needs, path = settings.private_key_file] { return read_all(needs.files, path); };
    const auto pem = co_await needs.pool.run(read);
    auto key = pem ? SigningKey::from_pem(*pem) : pem.error();
    if (!key) co_return std::move(key).error().with("oauth.private_key_file");
    out.key = *std::move(key);
    out.method = "private_key_jwt";
  }
  if (!settings.auth_method.empty()) out.method = settings.auth_method;
  if (out.method == "private_key_jwt" && !out.key)
    co_return Error(Errc::invalid, "oauth.auth_method: private_key_jwt needs private_key_file");
  co_return out;
}

Task<Result<Registration>> register_client(Fetcher& fetcher, ServerMetadata server,
                                           std::string redirect_uri,
                                           std::vector<std::string> scopes) {
  // Anyone who can read our files can read a secret, so it proves nothing; prefer to have none.
  const bool open = contains(server.auth_methods, "none");
  const auto method = open ? std::string("none") : method_with_secret(server.auth_methods);
  json::object fields{{"client_name", "Reef"},
                      {"redirect_uris", json::array{redirect_uri}},
                      {"grant_types", json::array{"authorization_code", "refresh_token"}},
                      {"response_types", json::array{"code"}},
                      {"token_endpoint_auth_method", method},
                      {"application_type", "native"}};
  if (!scopes.empty()) fields["scope"] = joined(scopes);
  REEF_CO_TRY(const auto fetched, co_await fetcher.post(server.registration_endpoint,
                                                        "application/json", json::write(fields)));
  if (!fetched.good() || !fetched.document) {
    std::string why = fmt::format("HTTP status {}", fetched.status);
    if (fetched.document)
      if (const auto error = json::find_string(*fetched.document, "error"))
        why = utf8::excerpt(utf8::printable(*error));
    co_return Error(Errc::denied,
                    fmt::format("{} does not register clients by themselves ({}); get a client "
                                "there and put its id into oauth.client_id",
                                utf8::excerpt(utf8::printable(server.issuer)), why));
  }
  Registration out;
  out.issuer = server.issuer;
  out.redirect_uri = std::move(redirect_uri);
  const auto text = [&](std::string_view key) {
    return std::string(json::find_string(*fetched.document, key).value_or(""));
  };
  out.id = text("client_id");
  out.secret = text("client_secret");
  // The server's statement counts, if it makes one.
  out.method = text("token_endpoint_auth_method");
  if (out.method.empty()) out.method = method;
  out.expires = json::find_int(*fetched.document, "client_secret_expires_at").value_or(0);
  if (out.id.empty())
    co_return Error(Errc::invalid, "the authorization server registered us, but not by which name");
  if (!is_known(out.method) || (out.method != "none" && out.secret.empty()))
    co_return Error(Errc::unsupported,
                    fmt::format("the authorization server wants clients to prove themselves by "
                                "'{}', without what is needed for it",
                                utf8::excerpt(utf8::printable(out.method))));
  co_return out;
}

void prove(const Client& client, const std::string& issuer, std::int64_t now,
           Parameters& parameters, http::Headers& headers) {
  if (client.method == "client_secret_basic") {
    headers.emplace_back("Authorization",
                         "Basic " + to_base64(http::percent_encoded(client.id) + ":" +
                                              http::percent_encoded(client.secret)));
    return;
  }
  if (!client.id.empty()) parameters.emplace_back("client_id", client.id);
  if (client.method == "client_secret_post") {
    parameters.emplace_back("client_secret", client.secret);
  } else if (client.method == "private_key_jwt" && client.key) {
    parameters.emplace_back("client_assertion_type",
                            "urn:ietf:params:oauth:client-assertion-type:jwt-bearer");
    parameters.emplace_back("client_assertion",
                            client_assertion(*client.key, client.key_id, client.id, issuer, now));
  }
}

}  // namespace reef::oauth
