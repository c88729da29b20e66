#include <fmt/format.h>

#include "http/multi.h"

namespace reef::http {
namespace {

constexpr std::size_t kDrainsMax = 64;
constexpr std::size_t kDrainBytesMax = 64U << 10;
constexpr std::chrono::milliseconds kDrainPatience{1'000};

Error too_slow(std::string_view what, std::chrono::milliseconds limit) {
  return Error(Errc::timeout, fmt::format("{} for {} ms", what, limit.count()));
}

}  // namespace

Response::Response(std::unique_ptr<Exchange> exchange) : exchange_(std::move(exchange)) {}
Response::Response(Response&&) noexcept = default;
Response& Response::operator=(Response&&) noexcept = default;
Response::~Response() = default;

int Response::status() const {
  return exchange_->status;
}

const Headers& Response::headers() const {
  return exchange_->headers;
}

Task<Result<std::string>> Response::read() {
  auto& it = *exchange_;
  const auto came = [&it] { return !it.body.empty() || it.ended; };
  if (!co_await it.changed.wait_for(it.timeouts.idle, came)) {
    it.leave();
    it.failure = too_slow("the answer stood still", it.timeouts.idle);
    it.ended = true;
  }
  if (!it.body.empty()) {
    auto bytes = std::exchange(it.body, {});
    it.resume();
    co_return bytes;
  }
  if (it.failure) co_return *it.failure;
  co_return std::string();
}

const std::string* find_header(const Headers& headers, std::string_view name) {
  for (const auto& [key, value] : headers)
    if (key == name) return &value;
  return nullptr;
}

Task<Result<std::string>> read_body(Response& answer, std::size_t bytes_max) {
  std::string body;
  for (;;) {
    REEF_CO_TRY(const auto bytes, co_await answer.read());
    if (bytes.empty()) co_return body;
    body.append(bytes, 0, std::min(bytes.size(), bytes_max - body.size()));
    if (body.size() >= bytes_max) co_return body;
  }
}

Client::Client(Executor loop) : loop_(loop), drains_(loop, "http drains") {}

Client::~Client() = default;

Task<Result<Response>> Client::send(Request request, Timeouts timeouts, std::string ca_file) {
  if (stopping_) co_return Error(Errc::unavailable, "the daemon is shutting down");
  if (!multi_) {
    REEF_CO_CHECK(load_library());
    multi_ = std::make_shared<Multi>(loop_);
  }
  auto exchange = std::make_unique<Exchange>(multi_, std::move(request));
  auto& it = *exchange;
  REEF_CO_CHECK(it.start(timeouts, ca_file));
  // libcurl has its own timeout for connecting; after that we time the wait for the answer.
  while (!it.connected && !it.head_done && !it.ended) co_await it.changed.wait();
  const auto answered = [&it] { return it.head_done || it.ended; };
  if (!co_await it.changed.wait_for(timeouts.first_byte, answered))
    co_return too_slow("no answer", timeouts.first_byte);
  if (!it.head_done && it.failure) co_return *it.failure;
  co_return Response(std::move(exchange));
}

void Client::drain(Response answer) {
  if (answer.exchange_->ended || drains_.size() >= kDrainsMax) return;
  answer.exchange_->timeouts.idle = kDrainPatience;
  drains_.spawn(drain_soon(std::move(answer)));
}

Task<void> Client::drain_soon(Response answer) {
  co_await yield_to_loop();
  static_cast<void>(co_await read_body(answer, kDrainBytesMax));
}

Task<void> Client::stop() {
  stopping_ = true;
  const auto multi = multi_;
  if (!multi) co_return;
  for (auto* exchange : multi->live) {
    if (exchange->ended) continue;
    exchange->failure = Error(Errc::unavailable, "the daemon is shutting down");
    exchange->end(CURLE_OK);
  }
  drains_.cancel();
  co_await drains_.join();
  while (!multi->live.empty()) co_await multi->left.wait();
  multi->shut();
}

std::size_t Client::in_flight() const {
  return multi_ ? multi_->live.size() : 0;
}

}  // namespace reef::http
