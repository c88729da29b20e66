#include "daemon/listeners.h"

#include <algorithm>
#include <cerrno>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/log.h"

namespace reef::daemon {
namespace {

constexpr std::size_t kTokenHexDigits = 64;

// A quarter of the descriptors, at most 256, is kept for files, servers and backends. The owner's
// socket may have half of the others; every other listener a quarter.
transport::Limits share_of(transport::Limits limits, bool owners) {
  constexpr rlim_t kKeptMax = 256;
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return limits;
  const auto free = limit.rlim_cur - std::min(kKeptMax, limit.rlim_cur / 4);
  limits.connections_max =
      std::min<std::size_t>(limits.connections_max, std::max<rlim_t>(1, free / (owners ? 2 : 4)));
  return limits;
}

bool same_tcp(const Config& a, const Config& b) {
  return a.tcp_enabled == b.tcp_enabled && a.tcp_port == b.tcp_port &&
         a.tcp_trust_loopback == b.tcp_trust_loopback;
}

Task<protocol::Peer> identify(Pool& pool, std::uint16_t port, std::uint16_t peer_port) {
  auto work = [port, peer_port] { return transport::tcp_peer(port, peer_port); };
  co_return co_await pool.run(work);
}

}  // namespace

Listeners::Listeners(Parts parts)
    : parts_(std::move(parts)),
      door_(parts_.files, parts_.user_home),
      frames_(std::make_shared<transport::FrameBudget>(parts_.loop)) {}

Status Listeners::open(const Config& config) {
  REEF_TRY(auto owners,
           transport::Listener::listen_unix(parts_.loop, parts_.home.socket(), parts_.handler,
                                            share_of(config.limits, true)));
  owners->set_budget(frames_);
  all_.push_back(std::move(owners));
  REEF_TRY(auto tcp, listen_tcp(config));
  if (tcp) REEF_CHECK(adopt_tcp(std::move(tcp)));
  mind_crabtalk(config);
  return Ok{};
}

Status Listeners::change(const Config& from, const Config& to) {
  if (!same_tcp(from, to)) REEF_CHECK(change_tcp(from, to));
  mind_crabtalk(to);
  for (const auto& listener : all_)
    listener->set_limits(share_of(to.limits, listener == all_.front()));
  return Ok{};
}

Status Listeners::change_tcp(const Config& from, const Config& to) {
  // The old address may also be the new one, so it is given up first; its connections stay.
  if (auto* old = std::exchange(tcp_, nullptr)) old->stop_accepting();
  auto fresh = listen_tcp(to);
  if (!fresh) {
    auto again = listen_tcp(from);
    if (again && *again) static_cast<void>(adopt_tcp(*std::move(again)).ok());
    return std::move(fresh).error();
  }
  if (*fresh) return adopt_tcp(*std::move(fresh));
  ::unlink(parts_.home.tcp_address().c_str());
  return Ok{};
}

std::size_t Listeners::connections() const {
  std::size_t count = 0;
  for (const auto& listener : all_) count += listener->connections();
  return count;
}

void Listeners::close_doors() {
  for (const auto& listener : all_) listener->stop_accepting();
  ::unlink(parts_.home.socket().c_str());
  ::unlink(parts_.home.tcp_address().c_str());
  door_.leave();
}

Task<void> Listeners::settle(std::chrono::milliseconds patience) {
  const auto deadline = steady_now(parts_.loop) + patience;
  for (const auto& listener : all_) co_await listener->settle(deadline);
}

Task<void> Listeners::stop() {
  for (const auto& listener : all_) co_await listener->stop();
}

Result<std::unique_ptr<transport::Listener>> Listeners::listen_tcp(const Config& config) {
  if (!config.tcp_enabled) return std::unique_ptr<transport::Listener>();
  std::string token;
  if (!config.tcp_trust_loopback) {
    REEF_TRY(token, load_token());
  }
  REEF_TRY(auto listener,
           transport::Listener::listen_tcp(parts_.loop, config.tcp_port, parts_.handler,
                                           share_of(config.limits, false), std::move(token)));
  listener->set_budget(frames_);
  listener->set_identify([&pool = parts_.pool](std::uint16_t port, std::uint16_t peer_port) {
    return identify(pool, port, peer_port);
  });
  return listener;
}

Status Listeners::adopt_tcp(std::unique_ptr<transport::Listener> listener) {
  const auto address = fmt::format("127.0.0.1:{}\n", listener->port());
  tcp_ = all_.emplace_back(std::move(listener)).get();
  log::info("tcp: listening on 127.0.0.1:{}", tcp_->port());
  return replace_atomically(parts_.files, parts_.home.tcp_address(), address);
}

void Listeners::mind_crabtalk(const Config& config) {
  if (!config.crabtalk_listen) {
    if (auto* open = std::exchange(crabtalk_, nullptr)) open->stop_accepting();
    door_.leave();
    return;
  }
  if (const auto open = crabtalk_ ? Status(Ok{}) : open_crabtalk(config); !open) {
    log::warn("crabtalk: {}", open.error().what);
    return;
  }
  // CrabTalk's clients bring no token.
  const bool may_come = tcp_ && config.tcp_enabled && config.tcp_trust_loopback;
  if (config.tcp_enabled && !config.tcp_trust_loopback)
    log::warn("crabtalk: no port file: its clients bring no token, and tcp.trust_loopback is off");
  if (const auto told = door_.tell_port(may_come ? tcp_->port() : 0); !told)
    log::warn("crabtalk: {}", told.error().what);
}

Status Listeners::open_crabtalk(const Config& config) {
  REEF_CHECK(door_.check());
  REEF_TRY(auto listener,
           transport::Listener::listen_unix(parts_.loop, door_.socket(), parts_.handler,
                                            share_of(config.limits, false)));
  listener->set_budget(frames_);
  door_.took_place();
  crabtalk_ = all_.emplace_back(std::move(listener)).get();
  log::info("crabtalk: listening at {}", door_.socket());
  return Ok{};
}

Result<std::string> Listeners::load_token() {
  const auto path = parts_.home.token();
  auto text = read_all(parts_.files, path);
  if (text) {
    // Others could read the token until now.
    struct ::stat info = {};
    if (::stat(path.c_str(), &info) == 0 && (info.st_mode & 0077U) != 0) {
      log::warn("{} could be read by others; its mode is now 0600", path);
      if (::chmod(path.c_str(), 0600) != 0) return sys_error(errno, "protect run/token");
    }
    while (!text->empty() && (text->back() == '\n' || text->back() == ' ')) text->pop_back();
    if (!text->empty()) return text;
  } else if (text.error().code != Errc::not_found) {
    return text;
  }
  auto token = parts_.random.hex(kTokenHexDigits);
  REEF_CHECK(replace_atomically(parts_.files, path, token + "\n"));
  return token;
}

}  // namespace reef::daemon
