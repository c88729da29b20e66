#include <cerrno>
#include <cstring>
#include <set>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <fmt/format.h>

#include "base/notify.h"
#include "base/task_group.h"
#include "http_server/link.h"

namespace reef::http_server {
namespace asio = boost::asio;

namespace {

constexpr std::chrono::milliseconds kAcceptPause{50};
// Connections above the limit that are told so at the same time; more are closed without a word.
constexpr std::size_t kTurnedAwayMax = 64;
constexpr std::uint16_t kGoingAway = 1001;

}  // namespace

struct Server::State : std::enable_shared_from_this<Server::State> {
  State(Executor on, Handler with, Options how)
      : loop(on),
        handler(std::make_shared<const Handler>(std::move(with))),
        options(std::move(how)),
        acceptor(on),
        accepting(on, "http accept"),
        serving(on, "http connections"),
        turned_away(on, "http refusals"),
        ended(on) {}
  ~State() { remove_file(); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void remove_file() {
    if (!path.empty()) ::unlink(path.c_str());
    path.clear();
  }
  void take(Socket socket);
  static Task<void> accept(std::shared_ptr<State> self);
  static Task<void> turn_away(std::shared_ptr<Link> link);
  static Task<void> say_goodbye(std::shared_ptr<WebSocket> socket);

  Executor loop;
  std::shared_ptr<const Handler> handler;
  Options options;
  asio::basic_socket_acceptor<asio::generic::stream_protocol> acceptor;
  std::uint16_t port = 0;
  std::string path;  // of our socket file
  std::set<Link*> links;
  bool stopping = false;
  TaskGroup accepting;
  TaskGroup serving;
  TaskGroup turned_away;
  Notify ended;
};

Task<void> Server::State::turn_away(std::shared_ptr<Link> link) {
  co_await yield_to_loop();
  const auto told = co_await link->write(refusal_of(503));
  if (told) co_await link->linger();
}

Task<void> Server::State::say_goodbye(std::shared_ptr<WebSocket> socket) {
  co_await yield_to_loop();
  co_await socket->close(kGoingAway, "the server stops");
}

void Server::State::take(Socket socket) {
  if (links.size() >= options.limits.connections) {
    // Through TLS it would cost a handshake to say so.
    if (options.tls || turned_away.size() >= kTurnedAwayMax) return;
    turned_away.spawn(turn_away(
        std::make_shared<Link>(loop, plain_wire(std::move(socket)), options.limits, [](Link&) {})));
    return;
  }
  auto wire = options.tls ? options.tls->wrap(std::move(socket)) : plain_wire(std::move(socket));
  const auto link = std::make_shared<Link>(loop, std::move(wire), options.limits,
                                           [self = shared_from_this()](Link& gone) {
                                             self->links.erase(&gone);
                                             self->ended.notify_all();
                                           });
  links.insert(link.get());
  serving.spawn(serve_http(link, handler));
}

Task<void> Server::State::accept(std::shared_ptr<State> self) {
  co_await yield_to_loop();
  while (!self->stopping) {
    auto [error, socket] = co_await self->acceptor.async_accept(kAwait);
    if (self->stopping) co_return;
    if (error) {
      // When descriptors run out, connections wait in the kernel's queue.
      co_await sleep_for(kAcceptPause);
      continue;
    }
    self->take(Socket(std::move(socket)));
  }
}

Result<std::unique_ptr<Server>> Server::start(std::shared_ptr<State> state) {
  boost::system::error_code failed;
  state->acceptor.listen(asio::socket_base::max_listen_connections, failed);
  if (failed) return sys_error(failed.value(), "listen");
  const auto local = state->acceptor.local_endpoint(failed);
  asio::ip::tcp::endpoint address;
  if (!failed && local.size() <= address.capacity() &&
      (local.protocol().family() == AF_INET || local.protocol().family() == AF_INET6)) {
    std::memcpy(address.data(), local.data(), local.size());
    state->port = address.port();
  }
  state->accepting.spawn(State::accept(state));
  return std::unique_ptr<Server>(new Server(std::move(state)));
}

Result<std::unique_ptr<Server>> Server::listen_loopback(Executor loop, std::uint16_t port,
                                                        Handler handler, Options options) {
  auto state = std::make_shared<State>(loop, std::move(handler), std::move(options));
  const asio::ip::tcp::endpoint here(asio::ip::address_v4::loopback(), port);
  boost::system::error_code failed;
  state->acceptor.open(here.protocol(), failed);
  if (!failed) state->acceptor.set_option(asio::socket_base::reuse_address(true), failed);
  if (!failed) state->acceptor.bind(here, failed);
  if (failed)
    return Error(Errc::unavailable, fmt::format("port {} of 127.0.0.1: {}", port, failed.message()),
                 failed.value());
  return start(std::move(state));
}

Result<std::unique_ptr<Server>> Server::listen_unix(Executor loop, const std::string& path,
                                                    Handler handler, Options options) {
  if (path.empty() || path.size() >= sizeof(sockaddr_un::sun_path))
    return Error(Errc::invalid, "the path of a socket is empty or too long: " + path);
  auto state = std::make_shared<State>(loop, std::move(handler), std::move(options));
  const asio::local::stream_protocol::endpoint here(path);
  boost::system::error_code failed;
  {
    // Whether somebody answers there.
    asio::local::stream_protocol::socket probe(loop);
    probe.connect(here, failed);
    if (!failed) return Error(Errc::conflict, path + ": somebody else listens there");
    if (failed == asio::error::connection_refused) ::unlink(path.c_str());
  }
  state->acceptor.open(here.protocol(), failed);
  // Before it has a name, so that nobody else can connect even for a moment.
  if (!failed && ::fchmod(state->acceptor.native_handle(), 0600) != 0)
    return sys_error(errno, "protect " + path);
  if (!failed) state->acceptor.bind(here, failed);
  if (failed) return sys_error(failed.value(), "listen on " + path);
  state->path = path;
  return start(std::move(state));
}

Result<std::unique_ptr<Server>> Server::listen_fd(Executor loop, int fd, Handler handler,
                                                  Options options) {
  auto state = std::make_shared<State>(loop, std::move(handler), std::move(options));
  sockaddr_storage address = {};
  socklen_t size = sizeof address;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    const auto error = sys_error(errno, "take over a socket");
    ::close(fd);
    return error;
  }
  boost::system::error_code failed;
  state->acceptor.assign(asio::generic::stream_protocol(address.ss_family, 0), fd, failed);
  if (failed) {
    ::close(fd);
    return sys_error(failed.value(), "take over a socket");
  }
  return start(std::move(state));
}

Server::Server(std::shared_ptr<State> state) : state_(std::move(state)) {}

Server::~Server() {
  state_->stopping = true;
  boost::system::error_code ignored;
  state_->acceptor.close(ignored);
  state_->remove_file();
  for (auto* link : state_->links) link->cut();
  state_->accepting.cancel();
  state_->serving.cancel();
  state_->turned_away.cancel();
}

std::uint16_t Server::port() const {
  return state_->port;
}

std::size_t Server::connections() const {
  return state_->links.size();
}

Task<void> Server::stop(std::chrono::milliseconds patience) {
  const auto state = state_;
  state->stopping = true;
  boost::system::error_code ignored;
  state->acceptor.close(ignored);
  state->remove_file();
  state->accepting.cancel();
  TaskGroup goodbyes(state->loop, "http goodbyes");
  for (auto* link : state->links) {
    link->stopping = true;
    if (link->idle) link->cut();
    if (auto socket = link->websocket.lock()) goodbyes.spawn(State::say_goodbye(std::move(socket)));
  }
  const auto answered = [&state] { return state->links.empty(); };
  static_cast<void>(co_await state->ended.wait_for(patience, answered));
  for (auto* link : state->links) link->cut();
  state->serving.cancel();
  state->turned_away.cancel();
  goodbyes.cancel();
  co_await goodbyes.join();
  co_await state->serving.join();
  co_await state->turned_away.join();
  co_await state->accepting.join();
}

}  // namespace reef::http_server
