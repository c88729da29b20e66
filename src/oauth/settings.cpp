#include "oauth/settings.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/json.h"
#include "base/secrets.h"
#include "base/utf8.h"

namespace reef::oauth {
namespace {

constexpr std::size_t kScopesMax = 100;
constexpr std::size_t kScopeBytesMax = 256;

constexpr std::pair<std::string_view, GrantKind> kGrants[] = {
    {"authorization_code", GrantKind::code},
    {"client_credentials", GrantKind::client_credentials},
    {"jwt_bearer", GrantKind::jwt_bearer},
    {"enterprise", GrantKind::enterprise},
};
constexpr std::string_view kMethods[] = {"none", "client_secret_basic", "client_secret_post",
                                         "private_key_jwt"};

// The settings that are texts, both for reading and for showing them.
struct Text {
  std::string_view key;
  std::string Settings::*member;
  bool secret = false;
};
constexpr Text kTexts[] = {
    {"issuer", &Settings::issuer},
    {"client_id", &Settings::client_id},
    {"client_secret", &Settings::client_secret, true},
    {"private_key_file", &Settings::private_key_file},
    {"key_id", &Settings::key_id},
    {"auth_method", &Settings::auth_method},
    {"client_metadata_url", &Settings::client_metadata_url},
    {"assertion", &Settings::assertion, true},
    {"idp_issuer", &Settings::idp_issuer},
    {"idp_client_id", &Settings::idp_client_id},
    {"idp_client_secret", &Settings::idp_client_secret, true},
    {"id_token", &Settings::id_token, true},
};

std::string_view word_for(GrantKind grant) {
  for (const auto& [word, kind] : kGrants)
    if (kind == grant) return word;
  return {};
}

Error wrong(std::string_view key, std::string_view why) {
  return Error(Errc::invalid, fmt::format("oauth.{}: {}", utf8::excerpt(key), why));
}

bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

// Checks for a scope-token of RFC 6749.
bool is_scope(std::string_view scope) {
  return !scope.empty() && scope.size() <= kScopeBytesMax &&
         std::all_of(scope.begin(), scope.end(),
                     [](char c) { return c > 0x20 && c < 0x7f && c != '"' && c != '\\'; });
}

bool is_web_address(std::string_view text) {
  return text.starts_with("https://") || text.starts_with("http://");
}

Status read_scopes(const json::value& value, std::vector<std::string>& into) {
  if (!value.is_array()) return wrong("scopes", "must be a list of strings");
  for (const auto& one : value.get_array()) {
    if (!one.is_string()) return wrong("scopes", "must be a list of strings");
    into.emplace_back(one.get_string());
  }
  return Ok{};
}

}  // namespace

Result<Settings> settings_from(const json::object& fields) {
  Settings out;
  for (const auto& [key, value] : fields) {
    if (value.is_null()) continue;
    const auto* text = std::find_if(std::begin(kTexts), std::end(kTexts),
                                    [&](const Text& one) { return one.key == key; });
    if (text != std::end(kTexts)) {
      if (!value.is_string()) return wrong(key, "must be a string");
      out.*(text->member) = std::string_view(value.get_string());
    } else if (key == "grant") {
      const auto* word = value.if_string();
      const auto* grant = std::find_if(
          std::begin(kGrants), std::end(kGrants),
          [&](const auto& one) { return word && one.first == std::string_view(*word); });
      if (grant == std::end(kGrants))
        return wrong(key,
                     "must be authorization_code, client_credentials, jwt_bearer or enterprise");
      out.grant = grant->second;
    } else if (key == "scopes") {
      REEF_CHECK(read_scopes(value, out.scopes));
    } else if (key == "redirect_port") {
      const auto port = json::find_int(fields, key);
      if (!port || *port < 0 || *port > 65535) return wrong(key, "must be a port, or 0 for any");
      out.redirect_port = static_cast<std::uint16_t>(*port);
    } else {
      return wrong(key, "there is no such setting");
    }
  }
  return out;
}

Status check(const Settings& settings) {
  for (const auto& text : kTexts)
    if (has_control(settings.*(text.member)))
      return wrong(text.key, "must not hold control characters");
  if (settings.scopes.size() > kScopesMax)
    return wrong("scopes", fmt::format("at most {}", kScopesMax));
  for (const auto& scope : settings.scopes)
    if (!is_scope(scope))
      return wrong("scopes", fmt::format("'{}' cannot be a scope", utf8::excerpt(scope)));
  if (!settings.auth_method.empty() && std::find(std::begin(kMethods), std::end(kMethods),
                                                 settings.auth_method) == std::end(kMethods))
    return wrong("auth_method",
                 "must be none, client_secret_basic, client_secret_post or private_key_jwt");
  for (const auto* issuer : {&settings.issuer, &settings.idp_issuer})
    if (!issuer->empty() && !is_web_address(*issuer))
      return wrong(issuer == &settings.issuer ? "issuer" : "idp_issuer", "must be an address");
  if (!settings.client_metadata_url.empty()) {
    const auto& url = settings.client_metadata_url;
    if (!url.starts_with("https://") || url.find('/', 8) == std::string::npos)
      return wrong("client_metadata_url", "must be an https:// address with a path");
    if (!settings.client_id.empty())
      return wrong("client_metadata_url", "is instead of a client_id, not beside it");
  }
  if (!settings.client_secret.empty() && !settings.private_key_file.empty())
    return wrong("private_key_file", "is instead of a client_secret, not beside it");
  const bool has_proof = !settings.client_secret.empty() || !settings.private_key_file.empty();
  if (has_proof && settings.client_id.empty() && settings.client_metadata_url.empty())
    return wrong("client_id", "is missing: whose secret is it?");
  switch (settings.grant) {
    case GrantKind::code:
      break;
    case GrantKind::client_credentials:
      if (settings.client_id.empty() || !has_proof)
        return wrong("grant",
                     "client_credentials needs client_id, and client_secret or "
                     "private_key_file");
      break;
    case GrantKind::jwt_bearer:
      if (settings.assertion.empty()) return wrong("grant", "jwt_bearer needs an assertion");
      break;
    case GrantKind::enterprise:
      if (settings.client_id.empty() || settings.idp_issuer.empty() ||
          settings.idp_client_id.empty() || settings.id_token.empty())
        return wrong("grant", "enterprise needs client_id, idp_issuer, idp_client_id and id_token");
      break;
  }
  return Ok{};
}

std::map<std::string, std::string> words_of(const Settings& settings) {
  std::map<std::string, std::string> out;
  for (const auto& text : kTexts)
    if (const auto& value = settings.*(text.member); !value.empty()) out.emplace(text.key, value);
  if (settings.grant != GrantKind::code) out.emplace("grant", word_for(settings.grant));
  for (const auto& scope : settings.scopes) {
    auto& scopes = out["scopes"];
    scopes += (scopes.empty() ? "" : " ") + scope;
  }
  if (settings.redirect_port != 0)
    out.emplace("redirect_port", std::to_string(settings.redirect_port));
  return out;
}

Settings masked(const Settings& settings) {
  auto out = settings;
  for (const auto& text : kTexts)
    if (text.secret) out.*(text.member) = mask(out.*(text.member));
  return out;
}

std::string identity_of(const Settings& settings) {
  return json::write(json::array{word_for(settings.grant), settings.issuer, settings.client_id,
                                 settings.client_metadata_url, settings.idp_issuer,
                                 settings.idp_client_id});
}

}  // namespace reef::oauth
