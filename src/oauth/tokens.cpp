#include "oauth/tokens.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/secrets.h"
#include "base/utf8.h"
#include "oauth/challenge.h"

namespace reef::oauth {
namespace {

constexpr std::size_t kTokenBytesMax = 64U << 10;
constexpr std::size_t kSaidBytesMax = 200;
constexpr std::chrono::seconds kMarginMax{60};
constexpr std::int64_t kLifetimeMax = 10LL * 365 * 24 * 3600;

bool is_token(std::string_view text) {
  return !text.empty() && text.size() <= kTokenBytesMax &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

bool is_secret(std::string_view name) {
  for (const std::string_view secret : {"code", "code_verifier", "refresh_token", "client_secret",
                                        "client_assertion", "assertion", "subject_token", "token"})
    if (name == secret) return true;
  return false;
}

Error refusal_from(const Fetched& fetched, const Client& client, const Parameters& parameters) {
  Secrets secrets;
  secrets.add(client.secret);
  for (const auto& [name, value] : parameters)
    if (is_secret(name)) secrets.add(value);
  const auto said = [&](std::string_view key) -> std::string {
    if (!fetched.document) return {};
    const auto text = json::find_string(*fetched.document, key).value_or("");
    return utf8::excerpt(secrets.scrub(utf8::printable(text)), kSaidBytesMax);
  };
  const auto error = said("error");
  auto what = error.empty() ? fmt::format("HTTP status {}", fetched.status) : error;
  if (const auto more = said("error_description"); !more.empty()) what += " (" + more + ")";
  what = "the authorization server gives no token: " + what;
  if (fetched.status == 429) return Error(Errc::busy, std::move(what));
  if (fetched.status >= 500) return Error(Errc::unavailable, std::move(what));
  for (const std::string_view worthless :
       {"invalid_grant", "invalid_client", "unauthorized_client"})
    if (error == worthless) return Error(Errc::unauthorized, std::move(what));
  return Error(error.empty() ? Errc::unavailable : Errc::denied, std::move(what));
}

json::array list_of(const std::vector<std::string>& texts) {
  json::array out;
  for (const auto& text : texts) out.push_back(json::value(text));
  return out;
}

std::vector<std::string> texts_of(const json::object& in, std::string_view key) {
  std::vector<std::string> out;
  if (const auto* list = json::find_array(in, key))
    for (const auto& one : *list)
      if (const auto* text = one.if_string()) out.emplace_back(*text);
  return out;
}

std::string text_of(const json::object& in, std::string_view key) {
  return std::string(json::find_string(in, key).value_or(""));
}

std::string time_of(TimePoint time) {
  return time == TimePoint() ? std::string() : format_iso(time);
}

TimePoint time_from(const json::object& in, std::string_view key) {
  return parse_iso(text_of(in, key)).value_or(TimePoint());
}

}  // namespace

json::object to_json(const Registration& registration) {
  return {{"issuer", registration.issuer},
          {"clientId", registration.id},
          {"clientSecret", registration.secret},
          {"method", registration.method},
          {"redirectUri", registration.redirect_uri},
          {"expires", registration.expires}};
}

std::optional<Registration> registration_from(const json::object& fields) {
  Registration out;
  out.issuer = text_of(fields, "issuer");
  out.id = text_of(fields, "clientId");
  out.secret = text_of(fields, "clientSecret");
  out.method = text_of(fields, "method");
  out.redirect_uri = text_of(fields, "redirectUri");
  out.expires = json::find_int(fields, "expires").value_or(0);
  if (out.issuer.empty()) return std::nullopt;
  return out;
}

json::object to_json(const Grant& grant) {
  return {{"server", grant.server},
          {"identity", grant.identity},
          {"issuer", grant.issuer},
          {"resource", grant.resource},
          {"tokenEndpoint", grant.token_endpoint},
          {"revocationEndpoint", grant.revocation_endpoint},
          {"client", to_json(grant.client)},
          {"accessToken", grant.access_token},
          {"refreshToken", grant.refresh_token},
          {"dpopKey", grant.dpop_key},
          {"expires", time_of(grant.expires)},
          {"renewAt", time_of(grant.renew_at)},
          {"requested", list_of(grant.requested)},
          {"granted", list_of(grant.granted)}};
}

std::optional<Grant> grant_from(const json::object& fields) {
  Grant out;
  out.server = text_of(fields, "server");
  out.identity = text_of(fields, "identity");
  out.issuer = text_of(fields, "issuer");
  out.resource = text_of(fields, "resource");
  out.token_endpoint = text_of(fields, "tokenEndpoint");
  out.revocation_endpoint = text_of(fields, "revocationEndpoint");
  if (const auto* client = json::find_object(fields, "client"))
    if (auto read = registration_from(*client)) out.client = *std::move(read);
  out.access_token = text_of(fields, "accessToken");
  out.refresh_token = text_of(fields, "refreshToken");
  out.dpop_key = text_of(fields, "dpopKey");
  out.expires = time_from(fields, "expires");
  out.renew_at = time_from(fields, "renewAt");
  out.requested = texts_of(fields, "requested");
  out.granted = texts_of(fields, "granted");
  if (out.server.empty() || out.token_endpoint.empty() || !is_token(out.access_token))
    return std::nullopt;
  return out;
}

Status take_tokens(const json::object& answer, TimePoint now, Grant& into) {
  const auto token = text_of(answer, "access_token");
  if (!is_token(token))
    return Error(Errc::invalid, "the authorization server's answer holds no token");
  const auto type = utf8::lower_ascii(text_of(answer, "token_type"));
  if (type == "dpop" && into.dpop_key.empty())
    return Error(Errc::unsupported, "the authorization server gave a token for a key we have not");
  if (type == "bearer") {
    into.dpop_key.clear();
  } else if (type != "dpop") {
    return Error(Errc::unsupported,
                 fmt::format("the authorization server gave a token of the kind '{}', which is not "
                             "known here",
                             utf8::excerpt(utf8::printable(type))));
  }
  into.access_token = token;
  // Without a new refresh token the old one stays valid.
  if (auto refresh = text_of(answer, "refresh_token"); is_token(refresh))
    into.refresh_token = std::move(refresh);
  into.expires = into.renew_at = {};
  if (const auto seconds = json::find_number(answer, "expires_in"); seconds && *seconds > 0) {
    const std::chrono::milliseconds lifetime(
        1000 * static_cast<std::int64_t>(std::min<double>(*seconds, kLifetimeMax)));
    into.expires = now + lifetime;
    into.renew_at = into.expires - std::min<std::chrono::milliseconds>(kMarginMax, lifetime / 4);
  }
  // Without a scope in the answer, the requested scopes were granted.
  const auto scope = json::find_string(answer, "scope");
  into.granted = scope ? scopes_from(*scope) : into.requested;
  return Ok{};
}

Task<Result<json::object>> request_tokens(Fetcher& fetcher, TokenRequest request) {
  const auto& needs = fetcher.needs();
  std::optional<SigningKey> key;
  if (!request.dpop_key.empty()) {
    REEF_CO_TRY(key, SigningKey::from_pem(request.dpop_key));
  }
  std::string nonce;
  for (int attempt = 0;; ++attempt) {
    auto parameters = request.parameters;
    http::Headers headers;
    const auto now = seconds_now(needs.clock);
    prove(request.client, request.issuer, now, parameters, headers);
    if (key)
      headers.emplace_back("DPoP", dpop_proof(*key, "POST", request.endpoint, {}, nonce, now));
    REEF_CO_TRY(auto fetched,
                co_await fetcher.post(request.endpoint, "application/x-www-form-urlencoded",
                                      to_form(parameters), std::move(headers)));
    if (fetched.good() && fetched.document) co_return *std::move(fetched.document);
    // A server may demand its own nonce in the proof, once.
    if (key && attempt == 0 && !fetched.nonce.empty() && fetched.document &&
        json::find_string(*fetched.document, "error") == "use_dpop_nonce") {
      nonce = fetched.nonce;
      continue;
    }
    co_return refusal_from(fetched, request.client, parameters);
  }
}

Task<bool> revoke(Fetcher& fetcher, Grant grant, Client client) {
  if (grant.revocation_endpoint.empty()) co_return false;
  const bool whole = !grant.refresh_token.empty();
  Parameters parameters{{"token", whole ? grant.refresh_token : grant.access_token},
                        {"token_type_hint", whole ? "refresh_token" : "access_token"}};
  http::Headers headers;
  prove(client, grant.issuer, seconds_now(fetcher.needs().clock), parameters, headers);
  const auto fetched =
      co_await fetcher.post(grant.revocation_endpoint, "application/x-www-form-urlencoded",
                            to_form(parameters), std::move(headers));
  co_return fetched && fetched->good();
}

}  // namespace reef::oauth
