// An HTTP/1.1 server that does what a test tells it, on loopback and a port of its own. Written
// from the standard and sharing nothing with the client. Loop thread.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/ip/tcp.hpp>

#include "base/notify.h"
#include "base/task_group.h"

namespace reef::test {

// The reply to one request.
struct FakeReply {
  enum class Then : std::uint8_t {
    keep,   // the body ends properly; the connection serves the next request
    cut,    // the connection ends in mid-body
    reset,  // the same, by a TCP reset
    hang,   // nothing more comes until the client goes away
  };

  int status = 200;
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::vector<std::string> pieces = {};  // pieces of the body, each sent by itself
  Then then = Then::keep;
  bool silent = false;         // hangs at once, before the head
  std::string raw = {};        // sends these bytes instead of all the above, then closes
  std::size_t body_bytes = 0;  // when > 0, a Content-Length replaces chunks
};

FakeReply event_stream(std::vector<std::string> pieces);
FakeReply json_reply(int status, std::string body);

struct SeenRequest {
  std::string method;
  std::string target;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
  std::size_t connection = 0;  // the connection's number, from 0
};

class FakeHttp {
 public:
  explicit FakeHttp(Executor loop);
  ~FakeHttp();

  std::string url() const;  // http://127.0.0.1:port
  std::uint16_t port() const;
  // Replies are used in order; the last one is repeated. A function may decide instead.
  void reply(FakeReply reply) { replies_.push_back(std::move(reply)); }
  std::function<FakeReply(const SeenRequest&)> on_request;

  const std::vector<SeenRequest>& requests() const { return requests_; }
  std::size_t connections() const { return connections_; }
  // When the client was seen to close the n-th connection.
  const std::map<std::size_t, std::chrono::steady_clock::time_point>& closed() const {
    return closed_;
  }
  // Notified at every accept, request, piece sent, and close.
  Notify& changed() { return changed_; }
  std::size_t pieces_sent() const { return pieces_sent_; }

  // Returns once everything is closed.
  Task<void> stop();

 private:
  struct Connection;
  Task<void> accept();
  Task<void> serve(std::size_t number, std::shared_ptr<Connection> connection);
  // False when the connection is over.
  Task<bool> answer(std::size_t number, Connection& connection, FakeReply reply);
  Task<void> watch_for_close(std::size_t number, Connection& connection);
  FakeReply next_reply(const SeenRequest& request);
  void note_closed(std::size_t number);

  Executor loop_;
  boost::asio::ip::tcp::acceptor acceptor_;
  std::deque<FakeReply> replies_;
  std::vector<SeenRequest> requests_;
  std::size_t connections_ = 0;
  std::size_t pieces_sent_ = 0;
  std::map<std::size_t, std::chrono::steady_clock::time_point> closed_;
  Notify changed_;
  TaskGroup tasks_;
};

}  // namespace reef::test
