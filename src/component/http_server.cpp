#include "component/http_server.h"

#include <algorithm>
#include <cctype>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>

#include "base/notify.h"

namespace reef::component {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;

constexpr std::size_t kConnectionsMax = 64;
constexpr std::uint64_t kBodyBytesMax = 4U << 20;
constexpr std::uint32_t kHeadBytesMax = 16U << 10;
constexpr std::chrono::seconds kIdle{120};
constexpr std::chrono::milliseconds kPause{50};

HttpRequest taken(http::request<http::string_body>&& from) {
  HttpRequest out;
  out.method = std::string(from.method_string());
  out.path = std::string(from.target());
  out.path = out.path.substr(0, out.path.find('?'));
  for (const auto& field : from) {
    std::string name(field.name_string());
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    out.headers.insert_or_assign(std::move(name), std::string(field.value()));
  }
  out.body = std::move(from.body());
  return out;
}

http::response<http::string_body> response(HttpReply reply, unsigned version, bool keep_alive) {
  http::response<http::string_body> out(static_cast<http::status>(reply.status), version);
  if (!reply.body.empty()) out.set(http::field::content_type, "application/json");
  if (!reply.allow.empty()) out.set(http::field::allow, reply.allow);
  out.keep_alive(keep_alive);
  out.body() = std::move(reply.body);
  out.prepare_payload();
  return out;
}

// Takes as long for a wrong token as for the right one.
bool is_same(std::string_view a, std::string_view b) {
  unsigned differ = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < b.size(); ++i)
    differ |=
        static_cast<unsigned char>(b[i]) ^ static_cast<unsigned char>(i < a.size() ? a[i] : 0);
  return differ == 0;
}

HttpReply stranger() {
  return {401, R"({"error":"the token of run/NAME.port is wanted, as Authorization: Bearer"})"};
}

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::listen(Executor loop, const Service& service,
                                                       std::string token) {
  boost::system::error_code failed;
  tcp::acceptor acceptor(loop);
  const tcp::endpoint here(asio::ip::address_v4::loopback(), 0);
  acceptor.open(here.protocol(), failed);
  if (!failed) acceptor.bind(here, failed);
  if (!failed) acceptor.listen(asio::socket_base::max_listen_connections, failed);
  if (failed) return sys_error(failed.value(), "listen on 127.0.0.1");
  return std::unique_ptr<HttpServer>(
      new HttpServer(loop, service, std::move(token), std::move(acceptor)));
}

HttpServer::HttpServer(Executor loop, const Service& service, std::string token,
                       tcp::acceptor acceptor)
    : service_(service),
      wanted_("Bearer " + std::move(token)),
      acceptor_(std::move(acceptor)),
      port_(acceptor_.local_endpoint().port()),
      tasks_(loop, "component") {
  tasks_.spawn(accept());
}

Task<void> HttpServer::stop() {
  boost::system::error_code ignored;
  acceptor_.close(ignored);
  tasks_.cancel();
  co_await tasks_.join();
}

Task<void> HttpServer::accept() {
  co_await yield_to_loop();
  while (acceptor_.is_open()) {
    boost::system::error_code failed;
    auto socket =
        co_await acceptor_.async_accept(asio::redirect_error(asio::use_awaitable, failed));
    if (failed == asio::error::operation_aborted) co_return;
    // When descriptors run out, connections wait in the kernel's queue. Connections above the limit
    // are closed at once.
    if (failed) co_await sleep_for(kPause);
    if (!failed && tasks_.size() <= kConnectionsMax) tasks_.spawn(serve(std::move(socket)));
  }
}

Task<void> HttpServer::serve(tcp::socket socket) {
  co_await yield_to_loop();
  beast::tcp_stream stream(std::move(socket));
  beast::flat_buffer buffer;
  for (;;) {
    http::request_parser<http::string_body> parser;
    parser.body_limit(kBodyBytesMax);
    parser.header_limit(kHeadBytesMax);
    stream.expires_after(kIdle);
    boost::system::error_code failed;
    co_await http::async_read(stream, buffer, parser,
                              asio::redirect_error(asio::use_awaitable, failed));
    const auto version = parser.get().version();
    if (failed == http::error::body_limit) {
      auto refusal = response(HttpReply{413}, version, false);
      co_await http::async_write(stream, refusal,
                                 asio::redirect_error(asio::use_awaitable, failed));
      co_return;
    }
    if (failed) co_return;
    const bool keep_alive = parser.get().keep_alive();
    const auto request = taken(parser.release());
    // A tool may take its time.
    stream.expires_never();
    const auto shown = request.headers.find("authorization");
    const bool known = shown != request.headers.end() && is_same(shown->second, wanted_);
    auto reply = known ? co_await answer(service_, request) : stranger();
    auto written = response(std::move(reply), version, keep_alive);
    stream.expires_after(kIdle);
    co_await http::async_write(stream, written, asio::redirect_error(asio::use_awaitable, failed));
    if (failed || !keep_alive) co_return;
  }
}

}  // namespace reef::component
