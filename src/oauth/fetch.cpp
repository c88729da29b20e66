#include "oauth/fetch.h"

#include <algorithm>

#include <fmt/format.h>

namespace reef::oauth {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kDocumentBytesMax = 256U << 10;
constexpr milliseconds kConnectPatience{10'000};

std::string place_of(std::string_view url) {
  const auto address = parse_address(url);
  return address ? origin_of(*address) : std::string("it");
}

}  // namespace

std::int64_t seconds_now(const Clock& clock) {
  return std::chrono::duration_cast<std::chrono::seconds>(clock.now().time_since_epoch()).count();
}

Task<Result<Fetched>> Fetcher::ask(http::Request request) {
  REEF_CO_CHECK(trust_.may_ask(request.url));
  const auto place = place_of(request.url);
  request.headers.emplace_back("Accept", "application/json");
  const auto begin = steady_now(needs_.loop);
  http::Timeouts timeouts;
  timeouts.connect = std::min(kConnectPatience, needs_.patience);
  timeouts.first_byte = timeouts.idle = needs_.patience;
  REEF_CO_TRY(auto answer, co_await needs_.http().send(std::move(request), timeouts));
  Fetched out;
  out.status = answer.status();
  if (const auto* nonce = http::find_header(answer.headers(), "dpop-nonce")) out.nonce = *nonce;
  std::string body;
  for (;;) {
    REEF_CO_TRY(const auto bytes, co_await answer.read());
    if (bytes.empty()) break;
    body += bytes;
    if (body.size() > kDocumentBytesMax)
      co_return Error(Errc::too_large, fmt::format("the answer of {} has more than {} bytes", place,
                                                   kDocumentBytesMax));
    // An answer that only trickles counts as stalled.
    if (steady_now(needs_.loop) - begin > 2 * needs_.patience)
      co_return Error(Errc::timeout, fmt::format("the answer of {} does not end", place));
  }
  if (auto value = json::parse(body); value && value->is_object())
    out.document = std::move(value->get_object());
  co_return out;
}

Task<Result<Fetched>> Fetcher::get(std::string url) {
  http::Request request;
  request.method = "GET";
  request.url = std::move(url);
  co_return co_await ask(std::move(request));
}

Task<Result<Fetched>> Fetcher::post(std::string url, std::string type, std::string body,
                                    http::Headers headers) {
  http::Request request;
  request.url = std::move(url);
  request.headers = std::move(headers);
  request.headers.emplace_back("Content-Type", std::move(type));
  request.body = std::move(body);
  co_return co_await ask(std::move(request));
}

}  // namespace reef::oauth
