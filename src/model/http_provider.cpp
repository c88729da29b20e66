#include "model/http_provider.h"

#include <charconv>
#include <ctime>

#include <fmt/format.h>

#include "base/notify.h"
#include "base/utf8.h"

namespace reef::model {
namespace {

using std::chrono::milliseconds;

// The most that is read of an error's body.
constexpr std::size_t kErrorBytesMax = 64U << 10;
constexpr std::size_t kListBytesMax = 16U << 20;
constexpr milliseconds kPauseMax{8'000};

Failure failure_of(const Error& error) {
  Failure failure;
  failure.message = error.what;
  switch (error.code) {
    case Errc::timeout:
      failure.kind = Failure::Kind::timeout;
      break;
    case Errc::invalid:
      failure.kind = Failure::Kind::invalid_request;
      break;
    default:
      failure.kind = Failure::Kind::network;
  }
  return failure;
}

Failure redirected(int status, const Headers& headers) {
  const auto* where = http::find_header(headers, "location");
  Failure failure;
  failure.kind = Failure::Kind::invalid_request;
  failure.http_status = status;
  failure.message = fmt::format("the server redirects{}; set base_url to where it is",
                                where ? " to " + utf8::excerpt(*where, 200) : "");
  return failure;
}

void set_header(Headers& headers, const std::string& name, const std::string& value) {
  const auto lower = utf8::lower_ascii(name);
  std::erase_if(headers,
                [&](const auto& header) { return utf8::lower_ascii(header.first) == lower; });
  headers.emplace_back(name, value);
}

}  // namespace

std::optional<milliseconds> retry_after_of(const Headers& headers, TimePoint now) {
  const auto number = [](const std::string& text) -> std::optional<double> {
    double value = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failed != std::errc() || end != text.data() + text.size() || !(value >= 0) || value > 1e9)
      return std::nullopt;
    return value;
  };
  if (const auto* text = http::find_header(headers, "retry-after-ms"))
    if (const auto value = number(*text)) return milliseconds(static_cast<std::int64_t>(*value));
  const auto* text = http::find_header(headers, "retry-after");
  if (!text) return std::nullopt;
  if (const auto value = number(*text))
    return milliseconds(static_cast<std::int64_t>(*value * 1000));
  std::tm date = {};
  if (!::strptime(text->c_str(), "%a, %d %b %Y %H:%M:%S GMT", &date)) return std::nullopt;
  const TimePoint when(std::chrono::seconds(::timegm(&date)));
  return std::max(milliseconds(0), std::chrono::duration_cast<milliseconds>(when - now));
}

void price(session::Usage& usage, const session::Cost& price_of_million) {
  auto& cost = usage.cost;
  const double named = cost.total;
  const auto of = [](std::int64_t tokens, double dollars) {
    return static_cast<double>(tokens) * dollars / 1e6;
  };
  cost.input = of(usage.input, price_of_million.input);
  cost.output = of(usage.output, price_of_million.output);
  cost.cache_read = of(usage.cache_read, price_of_million.cache_read);
  cost.cache_write = of(usage.cache_write, price_of_million.cache_write);
  cost.total = named > 0 ? named : cost.input + cost.output + cost.cache_read + cost.cache_write;
}

HttpProvider::HttpProvider(HttpNeeds needs, CodecFor codec_for, KeySource key, FactsFor facts_for,
                           HttpOptions options)
    : needs_(needs),
      codec_for_(std::move(codec_for)),
      key_source_(std::move(key)),
      facts_for_(std::move(facts_for)),
      options_(std::move(options)),
      api_(codec_for_("")->api()) {}

Task<Result<std::shared_ptr<const Codec>>> HttpProvider::codec() {
  if (codec_) co_return codec_;
  auto work = [source = key_source_, patience = options_.key_patience](std::stop_token stop) {
    return read_key(source, patience, std::move(stop));
  };
  // Only a command is slow enough for the pool.
  auto key = key_source_.kind == KeySource::Kind::command ? co_await needs_.pool.run_leavable(work)
                                                          : work({});
  if (!key) co_return std::move(key).error().with("key");
  key_ = *std::move(key);
  codec_ = codec_for_(key_);
  co_return codec_;
}

Task<std::variant<http::Response, Failure>> HttpProvider::send(const Codec& codec,
                                                               HttpRequest request) {
  for (const auto& [name, value] : options_.headers) set_header(request.headers, name, value);
  auto answer =
      co_await needs_.client.send(std::move(request), options_.timeouts, options_.ca_file);
  if (!answer) co_return failure_of(answer.error());
  const int status = answer->status();
  if (status >= 200 && status < 300) co_return *std::move(answer);
  const auto headers = answer->headers();
  if (status >= 300 && status < 400) co_return redirected(status, headers);
  // A truncated body may still tell the cause.
  const auto body = co_await http::read_body(*answer, kErrorBytesMax);
  auto failure = codec.failure(status, headers, body ? *body : std::string());
  failure.http_status = status;
  if (!failure.retry_after) failure.retry_after = retry_after_of(headers, needs_.clock.now());
  if (const auto* should = http::find_header(headers, "x-should-retry"))
    failure.final = failure.final || *should == "false";
  needs_.client.drain(*std::move(answer));
  co_return failure;
}

Task<Outcome> HttpProvider::attempt(const Codec& codec, const Request& request,
                                    const ModelFacts& facts, const DeltaSink& sink) {
  auto sent = co_await send(codec, codec.encode(request, facts, needs_.clock.now()));
  if (auto* failure = std::get_if<Failure>(&sent)) co_return std::move(*failure);
  auto& answer = std::get<http::Response>(sent);
  const auto decoder = codec.decoder(request, facts);
  while (!decoder->done()) {
    const auto bytes = co_await answer.read();
    if (!bytes) co_return failure_of(bytes.error());
    if (bytes->empty()) break;
    if (auto failure = decoder->take(*bytes, sink)) co_return std::move(*failure);
  }
  auto outcome = decoder->finish();
  needs_.client.drain(std::move(answer));
  co_return outcome;
}

milliseconds HttpProvider::pause_before(int retry) {
  const auto doubled = options_.backoff * (std::int64_t{1} << std::min(retry, 16));
  const auto whole = std::max<std::int64_t>(1, std::min(doubled, kPauseMax).count());
  const auto half = whole / 2;
  return milliseconds(half + static_cast<std::int64_t>(needs_.random.below(
                                 static_cast<std::uint64_t>(whole - half + 1))));
}

Task<Outcome> HttpProvider::stream(const Request& request, const DeltaSink& sink) {
  const auto facts = facts_for_(request.model);
  bool reached = false;
  const DeltaSink counting = [&](Delta delta) {
    reached = true;
    sink(std::move(delta));
  };
  bool key_read_again = false;
  for (int retry = 0;;) {
    const auto codec = co_await this->codec();
    if (!codec) {
      Failure failure;
      failure.kind = Failure::Kind::auth;
      failure.message = codec.error().what;
      co_return failure;
    }
    auto outcome = co_await attempt(**codec, request, facts, counting);
    if (auto* reply = std::get_if<Reply>(&outcome)) {
      auto& message = reply->message;
      if (message.model.empty()) message.model = request.model;
      price(message.usage, facts.price);
      co_return outcome;
    }
    const auto& failure = std::get<Failure>(outcome);
    if (reached) co_return outcome;
    if (failure.kind == Failure::Kind::auth && key_source_.kind == KeySource::Kind::command &&
        !std::exchange(key_read_again, true)) {
      // The key may have been renewed since it was read.
      const auto before = key_;
      if (codec_ == *codec) codec_.reset();
      const auto fresh = co_await this->codec();
      if (fresh && key_ != before) continue;
      co_return outcome;
    }
    if (!is_transient(failure) || retry >= options_.retries_max) co_return outcome;
    auto pause = pause_before(retry++);
    if (failure.retry_after) {
      if (*failure.retry_after > options_.retry_after_max) co_return outcome;
      pause = std::max(pause, *failure.retry_after);
    }
    co_await sleep_for(pause);
  }
}

Task<ModelsOutcome> HttpProvider::list_models() {
  const auto codec = co_await this->codec();
  if (!codec) {
    Failure failure;
    failure.kind = Failure::Kind::auth;
    failure.message = codec.error().what;
    co_return failure;
  }
  auto request = (*codec)->encode_list(needs_.clock.now());
  if (!request) co_return std::vector<ModelFacts>();
  auto sent = co_await send(**codec, std::move(*request));
  if (auto* failure = std::get_if<Failure>(&sent)) co_return std::move(*failure);
  const auto body = co_await http::read_body(std::get<http::Response>(sent), kListBytesMax);
  if (!body) co_return failure_of(body.error());
  co_return (*codec)->decode_list(*body);
}

}  // namespace reef::model
