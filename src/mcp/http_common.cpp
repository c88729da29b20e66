#include "mcp/http_common.h"

#include <fmt/format.h>

#include "base/utf8.h"
#include "oauth/account.h"

namespace reef::mcp {
namespace {

constexpr std::size_t kShownBytesMax = 200;

// Returns scheme://host:port.
std::string_view origin_of(std::string_view url) {
  const auto scheme = url.find("://");
  if (scheme == std::string_view::npos) return {};
  return url.substr(0, url.find_first_of("/?#", scheme + 3));
}

// The first attempt, one after a renewed token, and one with the server's nonce in the proof.
constexpr int kAttemptsMax = 3;

http::Headers standing_headers(const Resolved& server) {
  http::Headers out;
  for (const auto& [name, value] : server.spec.headers) out.emplace_back(name, value);
  const auto& auth = server.spec.auth;
  if (!auth.empty())
    out.emplace_back("Authorization",
                     auth.find(' ') == std::string::npos ? "Bearer " + auth : auth);
  return out;
}

}  // namespace

std::string Resolved::scrub(std::string text) const {
  text = secrets.scrub(std::move(text));
  return account ? account->scrub(std::move(text)) : text;
}

Task<Result<http::Response>> send_to(http::Client& client, const Resolved& server,
                                     http::Request request, http::Timeouts timeouts,
                                     Weight weight) {
  for (auto& header : standing_headers(server)) request.headers.push_back(std::move(header));
  request.own_user_only = server.spec.component;
  const auto account = server.account;
  if (!account) co_return co_await client.send(std::move(request), timeouts);
  std::string first;
  for (int attempt = 1;; ++attempt) {
    auto shown = co_await account->credentials(request.method, request.url);
    if (attempt == 1) first = shown.token;
    auto carried = request;
    for (auto& header : shown.headers) carried.headers.push_back(std::move(header));
    REEF_CO_TRY(auto answer, co_await client.send(std::move(carried), timeouts));
    const int status = answer.status();
    if ((status != 401 && status != 403) || attempt == kAttemptsMax) co_return std::move(answer);
    oauth::Account::Refusal refusal;
    refusal.status = status;
    refusal.headers = answer.headers();
    refusal.token = shown.token;
    refusal.renewed = shown.token != first;
    refusal.aside = weight == Weight::aside;
    REEF_CO_TRY(const bool retry, co_await account->refused(std::move(refusal)));
    if (!retry) co_return std::move(answer);
    client.drain(std::move(answer));
  }
}

bool is_event_stream(const http::Response& answer) {
  const auto* type = http::find_header(answer.headers(), "content-type");
  return type && utf8::lower_ascii(*type).starts_with("text/event-stream");
}

Error status_error(int status, bool had_session, const Resolved& server, std::string_view body) {
  const auto said = utf8::excerpt(server.scrub(utf8::sanitize(body)), kShownBytesMax);
  auto what = fmt::format("the server answered with HTTP status {}", status);
  if (!said.empty()) what += ": " + said;
  switch (status) {
    case 401:
      return Error(Errc::unauthorized, what + "; check auth");
    case 403:
      return Error(Errc::denied, std::move(what));
    case 404:
      return Error(had_session ? Errc::gone : Errc::unsupported, std::move(what));
    case 408:
    case 504:
      return Error(Errc::timeout, std::move(what));
    case 429:
      return Error(Errc::busy, std::move(what));
    default:
      return Error(status >= 500 ? Errc::unavailable : Errc::unsupported, std::move(what));
  }
}

Result<std::string> resolve_address(std::string_view base, std::string_view address) {
  const auto origin = origin_of(base);
  for (const char c : address)
    if (static_cast<unsigned char>(c) <= 0x20 || c == 0x7f)
      return Error(Errc::invalid, "the server named an address that cannot be one");
  if (address.find("://") != std::string_view::npos) {
    if (origin_of(address) != origin)
      return Error(Errc::denied, "the server named an address on another host");
    return std::string(address);
  }
  if (address.starts_with("//"))
    return Error(Errc::denied, "the server named an address on another host");
  if (address.starts_with('/')) return std::string(origin) + std::string(address);
  auto path = base.substr(origin.size());
  path = path.substr(0, path.find_first_of("?#"));
  const auto slash = path.rfind('/');
  const auto folder =
      slash == std::string_view::npos ? std::string_view("/") : path.substr(0, slash + 1);
  return std::string(origin) + std::string(folder) + std::string(address);
}

}  // namespace reef::mcp
