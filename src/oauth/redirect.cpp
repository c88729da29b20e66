#include "oauth/redirect.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>

#include "base/notify.h"
#include "base/task_group.h"

namespace reef::oauth {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

constexpr std::size_t kHeadBytesMax = 16U << 10;
constexpr std::size_t kConnectionsMax = 16;
constexpr std::chrono::milliseconds kPatience{10'000};
constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);

std::string page(const RedirectListener::Reply& reply) {
  const auto body = fmt::format(
      "<!doctype html><meta charset=utf-8><title>Reef</title>"
      "<body style=\"font:16px sans-serif;margin:4em auto;max-width:30em\"><p>{}</p>\n",
      reply.text);
  return fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n"
      "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'\r\n"
      "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n{}",
      reply.status, reply.status == 200 ? "OK" : "Refused", body.size(), body);
}

// A browser's connection; one that stays silent is closed.
struct Visit {
  Visit(tcp::socket with, const Executor& loop) : socket(std::move(with)), deadline(loop) {}
  tcp::socket socket;
  asio::steady_timer deadline;
};

// Outlives the listener until its tasks have noticed that it is gone.
struct Desk {
  Desk(tcp::acceptor at, const Executor& on, RedirectListener::Ask who)
      : loop(on), acceptor(std::move(at)), ask(std::move(who)), tasks(on, "oauth redirect") {}
  Executor loop;
  tcp::acceptor acceptor;
  RedirectListener::Ask ask;  // empty when the listener is gone
  TaskGroup tasks;
};

Task<void> serve(std::shared_ptr<Desk> desk, std::shared_ptr<Visit> visit) {
  co_await yield_to_loop();
  visit->deadline.expires_after(kPatience);
  visit->deadline.async_wait([weak = std::weak_ptr(visit)](boost::system::error_code error) {
    const auto it = weak.lock();
    boost::system::error_code ignored;
    if (!error && it) it->socket.close(ignored);
  });
  std::string head;
  const auto [error, size] = co_await asio::async_read_until(
      visit->socket, asio::dynamic_buffer(head, kHeadBytesMax), "\r\n\r\n", kAwait);
  static_cast<void>(size);
  if (error || !desk->ask) co_return;
  RedirectListener::Reply reply{405, "Only a browser is expected here."};
  if (head.starts_with("GET /"))
    reply = desk->ask(head.substr(4, head.find_first_of(" \r", 4) - 4));
  const auto answer = page(reply);
  co_await asio::async_write(visit->socket, asio::buffer(answer), kAwait);
  boost::system::error_code ignored;
  visit->socket.shutdown(tcp::socket::shutdown_both, ignored);
}

Task<void> accept(std::shared_ptr<Desk> desk) {
  co_await yield_to_loop();
  while (desk->ask) {
    auto [error, socket] = co_await desk->acceptor.async_accept(kAwait);
    if (!desk->ask) co_return;
    if (error) {
      co_await sleep_for(std::chrono::milliseconds(100));  // out of descriptors, for example
    } else if (desk->tasks.size() <= kConnectionsMax) {
      desk->tasks.spawn(serve(desk, std::make_shared<Visit>(std::move(socket), desk->loop)));
    }
  }
}

class Listener final : public RedirectListener {
 public:
  explicit Listener(std::shared_ptr<Desk> desk) : desk_(std::move(desk)) {
    desk_->tasks.spawn(accept(desk_));
  }
  ~Listener() override {
    desk_->ask = nullptr;
    desk_->tasks.cancel();  // the port becomes free when the last task ends
  }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  std::uint16_t port() const override { return desk_->acceptor.local_endpoint().port(); }

 private:
  std::shared_ptr<Desk> desk_;
};

}  // namespace

Result<std::unique_ptr<RedirectListener>> RedirectListener::open(Executor loop, std::uint16_t port,
                                                                 Ask ask) {
  const tcp::endpoint place(asio::ip::address_v4::loopback(), port);
  boost::system::error_code error;
  tcp::acceptor acceptor(loop);
  acceptor.open(place.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(place, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error)
    return Error(Errc::unavailable, fmt::format("port {} of 127.0.0.1: {}", port, error.message()));
  std::unique_ptr<RedirectListener> out =
      std::make_unique<Listener>(std::make_shared<Desk>(std::move(acceptor), loop, std::move(ask)));
  return out;
}

}  // namespace reef::oauth
