// One connection, and the time its peer has. For http_server/ only. Loop thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/alarm.h"
#include "base/result.h"
#include "http_server/http_server.h"
#include "http_server/wire.h"

namespace reef::http_server {

// A patience that runs out.
struct Patience {
  explicit Patience(const Executor& loop) : alarm(loop) {}
  Alarm alarm;
  std::uint64_t turn = 0;
};

class Link : public std::enable_shared_from_this<Link> {
 public:
  // `on_end` is called when the connection is no more.
  Link(Executor loop, std::unique_ptr<Wire> wire, const Limits& limits,
       std::function<void(Link&)> on_end);
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  const Executor& loop() const { return loop_; }
  const Limits& limits() const { return limits_; }
  Task<boost::system::error_code> begin();

  // Reads are cut off at this time from now on, until patient() is called.
  void expect_within(std::chrono::milliseconds duration);
  void patient();
  bool timed_out() const { return timed_out_; }
  // After a time-out of reading: lets an answer out that says so.
  void forgive() { timed_out_ = false; }

  // Bytes read ahead come before those that are read from the peer.
  std::string& ahead() { return ahead_; }
  // Reads more into ahead().
  Task<Moved> read_more();
  Task<Moved> read_some(boost::asio::mutable_buffer into);
  Task<Moved> write_some(boost::asio::const_buffer from);
  // Each piece has the time that a stall may last.
  Task<Status> write(std::string_view bytes);
  // Ends it so that the peer can read the last answer even while it is still sending.
  Task<void> linger();
  // Ends it at once.
  void cut();

  bool idle = true;       // no request is under way
  bool stopping = false;  // the server goes: the next answer is the last
  std::weak_ptr<WebSocket> websocket = {};

 private:
  void set(Patience& patience, std::chrono::milliseconds duration);
  static void clear(Patience& patience);

  Executor loop_;
  std::unique_ptr<Wire> wire_;
  const Limits limits_;
  std::function<void(Link&)> on_end_;
  std::string ahead_;
  Patience reading_;
  Patience writing_;
  bool timed_out_ = false;
};

// Serves the requests of a connection until it ends.
Task<void> serve_http(std::shared_ptr<Link> link, std::shared_ptr<const Handler> handler);

// Answers the upgrade and lets `talk` talk. False when the request was refused.
Task<bool> serve_websocket(std::shared_ptr<Link> link, const Request& request, Headers headers,
                           std::function<Task<void>(WebSocket&)> talk);

std::unique_ptr<Wire> plain_wire(Socket socket);

// The head of an answer, or of one that has no body.
std::string head_of(int status, const Headers& headers, std::string_view framing);
// A short answer of the server's own, after which the connection ends.
std::string refusal_of(int status);

}  // namespace reef::http_server
