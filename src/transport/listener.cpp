#include "transport/listener.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include "base/log.h"
#include "transport/identify.h"
#include "transport/unix_path.h"

namespace reef::transport {
namespace asio = boost::asio;

struct Listener::Acceptor {
  explicit Acceptor(const Executor& loop) : socket(loop) {}
  asio::basic_socket_acceptor<asio::generic::stream_protocol> socket;
};

namespace {

constexpr int kBacklog = 1024;
constexpr std::chrono::milliseconds kAcceptPause{100};

Result<ucred> peer_of(int fd) {
  ucred who = {};
  socklen_t size = sizeof who;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) != 0)
    return sys_error(errno, "ask who the peer is");
  return who;
}

// The peer's port; 0 when the peer is gone already.
std::uint16_t peer_port(const Socket& socket) {
  boost::system::error_code failed;
  asio::ip::tcp::endpoint peer;
  const auto remote = socket.remote_endpoint(failed);
  if (failed || remote.size() > peer.capacity()) return 0;
  std::memcpy(peer.data(), remote.data(), remote.size());
  return peer.port();
}

// Tells the peer why and hangs up, without ever waiting.
void turn_away(Socket& socket, const Error& why) {
  boost::system::error_code ignored;
  socket.non_blocking(true, ignored);
  const auto frame = make_frame(protocol::make_error(why).SerializeAsString());
  static_cast<void>(socket.write_some(asio::buffer(frame), ignored));
  socket.close(ignored);
}

}  // namespace

Listener::Listener(Executor loop, Handler handler, Limits limits)
    : loop_(loop),
      handler_(std::move(handler)),
      limits_(limits),
      acceptor_(std::make_unique<Acceptor>(loop)),
      background_(loop, "listener"),
      serving_(loop, "connections") {}

Listener::~Listener() = default;

Result<std::unique_ptr<Listener>> Listener::listen_unix(Executor loop, const std::string& path,
                                                        Handler handler, Limits limits) {
  REEF_TRY(const auto address, unix_address(path));
  if (::unlink(path.c_str()) != 0 && errno != ENOENT)
    return sys_error(errno, "remove abandoned socket " + path);

  std::unique_ptr<Listener> self(new Listener(loop, std::move(handler), limits));
  self->name_ = "uds";
  const asio::local::stream_protocol::endpoint endpoint(address.path);
  boost::system::error_code failed;
  auto& socket = self->acceptor_->socket;
  socket.open(asio::generic::stream_protocol(AF_UNIX, 0), failed);
  // Nobody may connect in the moment before the mode is set.
  const auto old_mask = ::umask(0177);
  if (!failed) socket.bind(endpoint, failed);
  ::umask(old_mask);
  if (!failed) socket.listen(kBacklog, failed);
  if (failed) return sys_error(failed.value(), "listen on " + path);
  self->background_.spawn(self->accept_all());
  return self;
}

Result<std::unique_ptr<Listener>> Listener::listen_tcp(Executor loop, std::uint16_t port,
                                                       Handler handler, Limits limits,
                                                       std::string token) {
  std::unique_ptr<Listener> self(new Listener(loop, std::move(handler), limits));
  self->name_ = "tcp";
  self->token_ = std::move(token);
  const asio::ip::tcp::endpoint endpoint(asio::ip::address_v4::loopback(), port);
  boost::system::error_code failed;
  auto& socket = self->acceptor_->socket;
  socket.open(asio::generic::stream_protocol(AF_INET, IPPROTO_TCP), failed);
  if (!failed) socket.set_option(asio::socket_base::reuse_address(true), failed);
  if (!failed) socket.bind(endpoint, failed);
  if (!failed) socket.listen(kBacklog, failed);
  if (failed)
    return sys_error(failed.value(), fmt::format("listen on 127.0.0.1:{}", port)).with("tcp");
  asio::ip::tcp::endpoint bound;
  const auto local = socket.local_endpoint(failed);
  if (!failed && local.size() <= bound.capacity()) {
    std::memcpy(bound.data(), local.data(), local.size());
    self->port_ = bound.port();
  }
  self->background_.spawn(self->accept_all());
  return self;
}

Task<void> Listener::accept_all() {
  bool refusing = false;
  for (;;) {
    Socket socket(loop_);
    boost::system::error_code failed;
    co_await acceptor_->socket.async_accept(socket,
                                            asio::redirect_error(asio::use_awaitable, failed));
    // This comes first: when it was aborted, this object may be gone.
    if (failed == asio::error::operation_aborted || stopping_) co_return;
    if (failed) {
      // Usually there are no descriptors left: existing clients go on, new ones wait.
      if (!refusing) log::warn("{}: accept: {}; trying again", name_, failed.message());
      refusing = true;
      co_await sleep_for(kAcceptPause);
      continue;
    }
    refusing = false;
    const auto name = fmt::format("{}#{}", name_, ++accepted_);
    if (!token_.empty()) make_room_among_strangers();
    if (connections_.size() >= limits_.connections_max) {
      log::warn("{}: turned away: {} connections are open", name, connections_.size());
      turn_away(socket, Error(Errc::unavailable,
                              fmt::format("{} connections are open already", connections_.size())));
      continue;
    }
    Connection::Options options{name, token_, limits_, budget_};
    if (name_ == "uds") {
      const auto who = peer_of(socket.native_handle());
      if (!who || (who->uid != ::geteuid() && who->uid != 0)) {
        log::warn("{}: turned away: another user", name);
        turn_away(socket, Error(Errc::denied, "this socket belongs to another user"));
        continue;
      }
      options.peer = unix_peer(socket.native_handle());
    } else {
      options.peer.via = protocol::Peer::Via::tcp;
      if (const auto from = peer_port(socket); identify_)
        options.identify = [identify = identify_, port = port_, from] {
          return identify(port, from);
        };
      socket.set_option(asio::ip::tcp::no_delay(true), failed);
      // Notices a peer that is gone for good although nothing is said.
      socket.set_option(asio::socket_base::keep_alive(true), failed);
    }
    serving_.spawn(serve(std::move(socket), std::move(options)));
    if (!watching_) {
      watching_ = true;
      background_.spawn(watch_progress());
    }
  }
}

Task<void> Listener::serve(Socket socket, Connection::Options options) {
  if (stopping_) co_return;
  Connection connection(std::move(socket), handler_, std::move(options));
  struct Entered {
    std::list<Connection*>& list;
    std::list<Connection*>::iterator place;
    ~Entered() { list.erase(place); }
  } entered{connections_, connections_.insert(connections_.end(), &connection)};
  co_await connection.serve();
}

void Listener::make_room_among_strangers() {
  const auto strange = [](const Connection* one) { return !one->authorized() && !one->closed(); };
  const auto count =
      static_cast<std::size_t>(std::count_if(connections_.begin(), connections_.end(), strange));
  if (count < limits_.strangers_max) return;
  const auto oldest = std::find_if(connections_.begin(), connections_.end(), strange);
  log::debug("{}: {} connections have not shown the token; the oldest leaves", name_, count);
  (*oldest)->close();
}

// One task watches all connections, and none while there are none: an idle daemon does not wake up.
Task<void> Listener::watch_progress() {
  constexpr std::chrono::milliseconds kStepMax{2'000};
  while (!connections_.empty()) {
    co_await sleep_for(std::min(kStepMax, limits_.stall_max / 4 + std::chrono::milliseconds(1)));
    const auto now = steady_now(loop_);
    for (auto* connection : connections_) connection->check_progress(now);
  }
  watching_ = false;
}

void Listener::stop_accepting() {
  stopping_ = true;
  boost::system::error_code ignored;
  acceptor_->socket.close(ignored);
}

Task<void> Listener::settle(Moment deadline) {
  constexpr std::chrono::milliseconds kStep{2};
  const auto settled = [](const Connection* connection) { return connection->settled(); };
  while (!std::all_of(connections_.begin(), connections_.end(), settled) &&
         steady_now(loop_) < deadline)
    co_await sleep_for(kStep);
}

Task<void> Listener::stop() {
  if (!stopping_) stop_accepting();
  background_.cancel();
  co_await background_.join();
  for (auto* connection : connections_) connection->close();
  co_await serving_.join();
}

}  // namespace reef::transport
