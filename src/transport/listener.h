// Accepts connections on one address and owns them. Loop thread only.
#pragma once

#include <list>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/task_group.h"
#include "transport/connection.h"

namespace reef::transport {

class Listener {
 public:
  // Listens on a Unix socket, 0600; only our own user and root may connect. Removes an abandoned
  // socket file in its place, because the caller holds the lock of the home.
  static Result<std::unique_ptr<Listener>> listen_unix(Executor loop, const std::string& path,
                                                       Handler handler, Limits limits);
  // Listens on 127.0.0.1 only. With a token, Hello must bring it; an empty token trusts every local
  // user. Port 0 takes any free one.
  static Result<std::unique_ptr<Listener>> listen_tcp(Executor loop, std::uint16_t port,
                                                      Handler handler, Limits limits,
                                                      std::string token);
  ~Listener();

  std::uint16_t port() const { return port_; }  // TCP only
  std::size_t connections() const { return connections_.size(); }
  void set_limits(Limits limits) { limits_ = limits; }
  // Finds out who a TCP peer is (tcp_peer); without it, a peer that brings the token is the user.
  using Identify = std::function<Task<protocol::Peer>(std::uint16_t port, std::uint16_t peer_port)>;
  void set_identify(Identify identify) { identify_ = std::move(identify); }
  // Limits unfinished frames together with those of other listeners.
  void set_budget(std::shared_ptr<FrameBudget> budget) { budget_ = std::move(budget); }

  // Takes no more connections; those that are there go on, and are watched as before.
  void stop_accepting();
  // Waits until every connection has what it asked for, but not beyond the deadline.
  Task<void> settle(Moment deadline);
  // Closes everything and returns when all is done.
  Task<void> stop();

 private:
  struct Acceptor;
  Listener(Executor loop, Handler handler, Limits limits);

  Task<void> accept_all();
  Task<void> serve(Socket socket, Connection::Options options);
  Task<void> watch_progress();
  // Closes the oldest connection that has not shown the token, when there are too many of those.
  void make_room_among_strangers();

  Executor loop_;
  Handler handler_;
  Limits limits_;
  std::string token_;
  Identify identify_;
  std::string name_;
  std::uint16_t port_ = 0;
  std::unique_ptr<Acceptor> acceptor_;
  std::shared_ptr<FrameBudget> budget_;
  std::list<Connection*> connections_;  // each lives in its serve() task
  std::uint64_t accepted_ = 0;
  bool watching_ = false;
  bool stopping_ = false;
  TaskGroup background_;  // accept_all and watch_progress: may be cancelled
  TaskGroup serving_;     // connections: end when closed
};

}  // namespace reef::transport
