// Table of contents of http_server/, and its face: HTTP/1.1 and WebSocket for others to call us.
//
//   http_server.h  Server, Request, Response, WebSocket   this file
//   wire.h         Wire                                   bytes of one connection, plain or TLS
//     tls.cpp                                               certificates, on OpenSSL
//   link.h         Link                                   one connection: bounded reads and writes
//   http.cpp                                              its requests, on Boost.Beast
//   websocket.cpp                                         its WebSocket, on Boost.Beast
//   server.cpp                                            listening, limits, the end
//
// No header of Boost.Beast leaves the room: two .cpp files pay for it. Loop thread.
//
// Nothing here grows without bound: connections, heads, bodies and messages have limits, a peer
// that sends or takes too slowly is cut off, and a peer that vanishes costs its connection only.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/task.h"

namespace reef::http_server {

using Headers = std::vector<std::pair<std::string, std::string>>;

struct Limits {
  std::size_t connections = 64;  // one more gets 503 and is closed
  std::uint32_t header_bytes = 16U << 10;
  std::uint64_t body_bytes = 4U << 20;
  std::uint64_t message_bytes = 4U << 20;    // of a WebSocket
  std::chrono::milliseconds header{15'000};  // from a request's first byte to its whole head
  std::chrono::milliseconds idle{120'000};   // between requests
  std::chrono::milliseconds stall{30'000};   // for every kPieceBytes, in both directions
  std::chrono::milliseconds websocket_idle{60'000};  // without even an answer to our ping
};

// Bodies are read and written in pieces of at most this.
inline constexpr std::size_t kPieceBytes = 64U << 10;

// The pieces of a request's body come from here.
class Body {
 public:
  virtual ~Body() = default;
  virtual Task<Result<std::string>> read() = 0;
};

// A request whose head has arrived.
struct Request {
  std::string method;
  std::string target;  // as sent: "/path?query"
  Headers headers;     // names in lower case, in their order
  bool wants_websocket = false;
  Body* body = nullptr;  // valid until the handler has returned; null is an empty body

  std::string_view path() const;
  // Returns nullptr when there is none. `name` must be in lower case.
  const std::string* find(std::string_view name) const;
  // Returns the next piece, empty at the end; a peer that waits for "100 Continue" gets it now.
  // After an error (`too_large`, `invalid`, `timeout`, `unavailable`) the handler may return what
  // it likes: the server gives the answer that the error calls for.
  Task<Result<std::string>> read() const;
  // Returns the rest of the body, which is within the limit.
  Task<Result<std::string>> whole_body() const;
};

// Writes a body of unknown length.
class Writer {
 public:
  virtual ~Writer() = default;
  // Returns when the system has taken all of it, so a slow peer slows its writer. Fails with
  // `unavailable` or `timeout` when the peer is gone: nothing will reach it any more.
  virtual Task<Status> write(std::string_view bytes) = 0;
};

class WebSocket {
 public:
  struct Message {
    bool is_text = true;  // and then it is valid UTF-8
    std::string data;
  };
  virtual ~WebSocket() = default;
  // One reader at a time. Fails with `gone` when the peer closed in order, `too_large` or `invalid`
  // when it broke the rules and was told so, `timeout` or `unavailable` when it vanished.
  virtual Task<Result<Message>> read() = 0;
  // Writes one whole message; several tasks may send, one after the other. Waits as Writer does.
  virtual Task<Status> send(Message message) = 0;
  // Says goodbye and waits for the peer's, but not for long.
  virtual Task<void> close(std::uint16_t code, std::string reason) = 0;
  // The code the peer closed with; 0 while it has not.
  virtual std::uint16_t closed_with() const = 0;
};

struct Response {
  int status = 200;
  Headers headers = {};  // without those about length and connection
  std::string body = {};
  // Used instead of `body`: writes it once the head went out. Not called for HEAD. When it throws,
  // the peer can tell that the body is not whole.
  std::function<Task<void>(Writer&)> stream = {};
  // Used instead of both: talks for as long as it likes; the connection is closed when it returns.
  // A request that does not want a WebSocket gets 426.
  std::function<Task<void>(WebSocket&)> websocket = {};
};

// Runs once for each request, those of one connection one after the other. One that throws is
// answered with 500.
using Handler = std::function<Task<Response>(Request&)>;

// A certificate with its key, read again when the files change; while new files are unusable, the
// old ones are served on.
class Tls;
Result<std::shared_ptr<Tls>> load_tls(std::string certificate_file, std::string key_file);

struct Options {
  Limits limits = {};
  std::shared_ptr<Tls> tls = {};  // null: plain
};

class Server {
 public:
  // On 127.0.0.1; port 0 takes any free one.
  static Result<std::unique_ptr<Server>> listen_loopback(Executor loop, std::uint16_t port,
                                                         Handler handler, Options options);
  // On a socket file, 0600. One that a dead process left is replaced, one that answers is not.
  static Result<std::unique_ptr<Server>> listen_unix(Executor loop, const std::string& path,
                                                     Handler handler, Options options);
  // On a socket that listens already, as a service manager hands it over; owns it from now on.
  static Result<std::unique_ptr<Server>> listen_fd(Executor loop, int fd, Handler handler,
                                                   Options options);

  // Cuts all connections off; await stop() first if their end matters.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::uint16_t port() const;  // 0 for a socket file
  std::size_t connections() const;

  // Takes no more connections, closes idle ones, tells WebSockets that it is going, and waits until
  // all requests are answered; after `patience` the rest is cut off. Nothing is left when it
  // returns.
  Task<void> stop(std::chrono::milliseconds patience);

 private:
  struct State;
  explicit Server(std::shared_ptr<State> state);
  static Result<std::unique_ptr<Server>> start(std::shared_ptr<State> state);

  std::shared_ptr<State> state_;
};

}  // namespace reef::http_server
