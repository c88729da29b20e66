#include <algorithm>
#include <cctype>
#include <ctime>
#include <exception>

#include <boost/asio/error.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/status.hpp>
#include <boost/beast/websocket/rfc6455.hpp>
#include <boost/system/system_error.hpp>
#include <fmt/format.h>

#include "base/log.h"
#include "base/notify.h"
#include "http_server/link.h"

namespace reef::http_server {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

using Parser = http::request_parser<http::buffer_body>;

constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

std::string date_now() {
  const auto now = std::time(nullptr);
  std::tm parts = {};
  ::gmtime_r(&now, &parts);
  char out[40];
  const auto size = std::strftime(out, sizeof out, "%a, %d %b %Y %H:%M:%S GMT", &parts);
  return {out, size};
}

bool has_body(int status) {
  return status >= 200 && status != 204 && status != 304;
}

// A line end in a header would begin another one.
bool is_clean(const Headers& headers) {
  const auto clean = [](const std::string& text) {
    return std::none_of(text.begin(), text.end(),
                        [](unsigned char c) { return (c < 0x20 && c != '\t') || c == 0x7f; });
  };
  return std::all_of(headers.begin(), headers.end(), [&](const auto& header) {
    return !header.first.empty() && header.first.find_first_of(": \t") == std::string::npos &&
           clean(header.first) && clean(header.second);
  });
}

int status_of(boost::system::error_code error) {
  if (error == http::error::header_limit || error == http::error::buffer_overflow) return 431;
  if (error == http::error::body_limit) return 413;
  if (error == http::error::bad_version) return 505;
  return 400;
}

// Reads a request's body through its parser.
class ParsedBody final : public Body {
 public:
  ParsedBody(Link& link, Parser& parser, bool expects)
      : link_(link), parser_(parser), expects_(expects) {}

  Task<Result<std::string>> read() override {
    if (failed_) co_return *failed_;
    if (parser_.is_done()) co_return std::string();
    if (expects_) {
      expects_ = false;
      if (const auto sent = co_await link_.write(kContinue); !sent) {
        failed_ = sent.error();
        co_return *failed_;
      }
    }
    std::string piece(kPieceBytes, '\0');
    for (;;) {
      const auto got = take(piece.data(), piece.size());
      if (failed_) co_return *failed_;
      if (got > 0 || parser_.is_done()) {
        count(got);
        piece.resize(got);
        co_return piece;
      }
      const auto began = steady_now(link_.loop());
      link_.expect_within(std::max(link_.limits().stall - waited_, std::chrono::milliseconds(1)));
      const auto moved = co_await link_.read_more();
      link_.patient();
      waited_ +=
          std::chrono::duration_cast<std::chrono::milliseconds>(steady_now(link_.loop()) - began);
      if (!moved.error) continue;
      failed_ = moved.error == asio::error::timed_out
                    ? Error(Errc::timeout, "the rest of the body did not come in time")
                    : Error(Errc::unavailable, "the connection ended within the body");
      co_return *failed_;
    }
  }

  // Reads the rest if it has come already and nobody wanted it; false when some is still to come.
  bool skip() {
    if (failed_ || expects_) return false;
    std::string unwanted(kPieceBytes, '\0');
    while (!parser_.is_done())
      if (take(unwanted.data(), unwanted.size()) == 0) return parser_.is_done();
    return true;
  }

  const std::optional<Error>& failed() const { return failed_; }

 private:
  // Uses what was read ahead; returns how many bytes of the body that gave.
  std::size_t take(char* into, std::size_t size) {
    auto& body = parser_.get().body();
    body.data = into;
    body.size = size;
    boost::system::error_code error;
    auto& ahead = link_.ahead();
    if (!ahead.empty()) ahead.erase(0, parser_.put(asio::buffer(ahead), error));
    if (error && error != http::error::need_more && error != http::error::need_buffer)
      failed_ = error == http::error::body_limit
                    ? Error(Errc::too_large, "the body is larger than what is taken")
                    : Error(Errc::invalid, error.message());
    // A chunk's own header that does not end.
    if (!failed_ && size == body.size && ahead.size() > link_.limits().header_bytes)
      failed_ = Error(Errc::invalid, "a chunk's header is too long");
    return size - body.size;
  }

  // Time counts until a piece's worth of bytes has come, so a trickle is as slow as it is.
  void count(std::size_t got) {
    got_ += got;
    if (got_ < kPieceBytes) return;
    got_ = 0;
    waited_ = {};
  }

  Link& link_;
  Parser& parser_;
  bool expects_;
  std::size_t got_ = 0;
  std::chrono::milliseconds waited_{0};
  std::optional<Error> failed_;
};

class LinkWriter final : public Writer {
 public:
  LinkWriter(Link& link, bool chunked) : link_(link), chunked_(chunked) {}

  Task<Status> write(std::string_view bytes) override {
    if (bytes.empty()) co_return Ok{};  // an empty chunk would be the last
    if (!chunked_) co_return co_await link_.write(bytes);
    while (!bytes.empty()) {
      const auto piece = bytes.substr(0, kPieceBytes);
      bytes.remove_prefix(piece.size());
      const auto framed = fmt::format("{:x}\r\n{}\r\n", piece.size(), piece);
      REEF_CO_CHECK(co_await link_.write(framed));
    }
    co_return Ok{};
  }

 private:
  Link& link_;
  bool chunked_;
};

// Why a request whose head can be read is not served; 0 when it is.
int objection_to(const Parser& parser) {
  const auto& head = parser.get();
  const auto hosts = head.count(http::field::host);
  if (hosts > 1 || (hosts == 0 && head.version() >= 11)) return 400;
  const auto encodings = head.count(http::field::transfer_encoding);
  if (encodings > 1 ||
      (encodings == 1 && !beast::iequals(head[http::field::transfer_encoding], "chunked")))
    return 501;
  const auto expects = head[http::field::expect];
  if (!expects.empty() && !beast::iequals(expects, "100-continue")) return 417;
  return 0;
}

Request request_from(const Parser& parser) {
  const auto& head = parser.get();
  Request out;
  out.method = std::string(head.method_string());
  out.target = std::string(head.target());
  for (const auto& field : head) {
    std::string name(field.name_string());
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    out.headers.emplace_back(std::move(name), std::string(field.value()));
  }
  out.wants_websocket = beast::websocket::is_upgrade(head);
  return out;
}

Task<void> refuse(Link& link, int status) {
  link.forgive();
  // Whether it can still read that does not matter.
  static_cast<void>(co_await link.write(refusal_of(status)));
}

// False when there is no request to serve: the connection ends.
Task<bool> read_head(Link& link, Parser& parser) {
  auto& ahead = link.ahead();
  bool begun = false;
  link.idle = ahead.empty();
  link.expect_within(link.limits().idle);
  for (;;) {
    // Some clients end a body with an empty line too many.
    while (!begun && ahead.starts_with("\r\n")) ahead.erase(0, 2);
    if (!ahead.empty() && !(ahead == "\r" && !begun)) {
      if (!begun) link.expect_within(link.limits().header);
      begun = true;
      link.idle = false;
      boost::system::error_code error;
      ahead.erase(0, parser.put(asio::buffer(ahead), error));
      if (parser.is_header_done() && !error) break;
      if (error && error != http::error::need_more) {
        link.patient();
        co_await refuse(link, status_of(error));
        co_return false;
      }
    }
    if (link.idle && link.stopping) co_return false;
    const auto moved = co_await link.read_more();
    if (!moved.error) continue;
    link.patient();
    if (begun && moved.error == asio::error::timed_out) co_await refuse(link, 408);
    co_return false;
  }
  link.patient();
  co_return true;
}

Task<Response> ask(const Handler& handler, Request& request) {
  try {
    co_return co_await handler(request);
  } catch (const boost::system::system_error& error) {
    if (error.code() == asio::error::operation_aborted) throw;
    log::error("an HTTP request failed by an exception: {}", error.what());
  } catch (const std::exception& error) {
    log::error("an HTTP request failed by an exception: {}", error.what());
  }
  co_return Response{.status = 500};
}

// False when the peer must not believe that this was all.
Task<bool> write_stream(Link& link, const std::function<Task<void>(Writer&)>& stream,
                        bool chunked) {
  LinkWriter writer(link, chunked);
  try {
    co_await stream(writer);
  } catch (const boost::system::system_error& error) {
    if (error.code() == asio::error::operation_aborted) throw;
    log::error("an HTTP answer ended by an exception: {}", error.what());
    co_return false;
  } catch (const std::exception& error) {
    log::error("an HTTP answer ended by an exception: {}", error.what());
    co_return false;
  }
  if (!chunked) co_return true;
  const auto written = co_await link.write("0\r\n\r\n");
  co_return written.ok();
}

enum class Next : std::uint8_t { request, linger, cut };

Task<Next> serve_request(std::shared_ptr<Link> link, const Handler& handler) {
  Parser parser;
  parser.header_limit(link->limits().header_bytes);
  parser.body_limit(link->limits().body_bytes);
  const bool readable = co_await read_head(*link, parser);
  if (!readable) co_return Next::linger;
  if (const int status = objection_to(parser); status != 0) {
    co_await refuse(*link, status);
    co_return Next::linger;
  }
  parser.eager(true);
  const bool is_11 = parser.get().version() >= 11;
  const bool expects = is_11 && !parser.get()[http::field::expect].empty();
  bool keep = parser.keep_alive();
  auto request = request_from(parser);
  ParsedBody body(*link, parser, expects);
  if (!parser.is_done()) request.body = &body;

  auto response = co_await ask(handler, request);
  if (const auto& failed = body.failed()) {
    if (failed->code == Errc::unavailable) co_return Next::cut;
    response = Response{.status = failed->code == Errc::too_large ? 413
                                  : failed->code == Errc::timeout ? 408
                                                                  : 400};
    link->forgive();
  }
  if (response.websocket && request.wants_websocket) {
    co_await serve_websocket(link, request, std::move(response.headers),
                             std::move(response.websocket));
    co_return Next::linger;
  }
  if (response.websocket) response = Response{.status = 426, .headers = {{"Upgrade", "websocket"}}};
  if (!is_clean(response.headers) || response.status < 200 || response.status > 599) {
    log::error("an answer to {} cannot be sent: its head is broken", request.method);
    response = Response{.status = 500};
  }

  // The rest of a body could be anything, so nothing can follow it.
  keep = body.skip() && keep && !link->stopping;
  const bool bodiless = request.method == "HEAD" || !has_body(response.status);
  const bool chunked = response.stream && is_11;
  std::string framing;
  if (response.stream) {
    if (chunked && has_body(response.status)) framing = "Transfer-Encoding: chunked\r\n";
    if (!chunked) keep = false;
  } else if (has_body(response.status)) {
    framing = fmt::format("Content-Length: {}\r\n", response.body.size());
  }
  if (!keep) {
    framing += "Connection: close\r\n";
  } else if (!is_11) {
    framing += "Connection: keep-alive\r\n";
  }
  auto head = head_of(response.status, response.headers, framing);
  if (!bodiless && !response.stream && response.body.size() <= kPieceBytes) {
    head += response.body;
    response.body.clear();
  }
  auto written = co_await link->write(head);
  if (!written) co_return Next::cut;
  if (!bodiless && response.stream) {
    const bool whole = co_await write_stream(*link, response.stream, chunked);
    if (!whole) co_return Next::cut;
  } else if (!bodiless) {
    written = co_await link->write(response.body);
    if (!written) co_return Next::cut;
  }
  co_return keep ? Next::request : Next::linger;
}

}  // namespace

std::string head_of(int status, const Headers& headers, std::string_view framing) {
  const auto reason = http::obsolete_reason(static_cast<http::status>(status));
  auto out = fmt::format("HTTP/1.1 {} {}\r\nDate: {}\r\n", status,
                         std::string_view(reason.data(), reason.size()), date_now());
  for (const auto& [name, value] : headers) out += fmt::format("{}: {}\r\n", name, value);
  out += framing;
  return out + "\r\n";
}

std::string refusal_of(int status) {
  return head_of(status, {}, "Content-Length: 0\r\nConnection: close\r\n");
}

Task<void> serve_http(std::shared_ptr<Link> link, std::shared_ptr<const Handler> handler) {
  co_await yield_to_loop();
  const auto failed = co_await link->begin();
  if (failed) co_return;
  for (;;) {
    const auto next = co_await serve_request(link, *handler);
    if (next == Next::cut) co_return;
    if (next == Next::request) continue;
    link->idle = false;
    co_await link->linger();
    co_return;
  }
}

}  // namespace reef::http_server
