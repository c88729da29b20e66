#include "mcp/http_common.h"

#include <fmt/format.h>

#include "base/utf8.h"

namespace reef::mcp {
namespace {

constexpr std::size_t kShownBytesMax = 200;

// scheme://host:port
std::string_view origin_of(std::string_view url) {
  const auto scheme = url.find("://");
  if (scheme == std::string_view::npos) return {};
  return url.substr(0, url.find_first_of("/?#", scheme + 3));
}

}  // namespace

http::Headers standing_headers(const Resolved& server) {
  http::Headers out;
  for (const auto& [name, value] : server.spec.headers) out.emplace_back(name, value);
  const auto& auth = server.spec.auth;
  if (!auth.empty())
    out.emplace_back("Authorization",
                     auth.find(' ') == std::string::npos ? "Bearer " + auth : auth);
  return out;
}

bool is_event_stream(const http::Answer& answer) {
  const auto* type = http::find_header(answer.headers(), "content-type");
  return type && utf8::lower_ascii(*type).starts_with("text/event-stream");
}

Error status_error(int status, bool had_session, const Secrets& secrets, std::string_view body) {
  const auto said = utf8::excerpt(secrets.scrub(utf8::sanitize(body)), kShownBytesMax);
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
