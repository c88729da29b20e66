// Table of contents of http/, and its face.
//
//   http.h      Client, Response   this file
//   sse.h       Parser           server-sent events
//   url.h                        text in URLs
//   host.h                       whose machine a host is
//   library.h                    libcurl, loaded when it is first needed
//   multi.h                      its transfers on our loop
//
// Outbound HTTP on libcurl's multi interface, driven by the loop. Nothing here blocks the loop;
// names are resolved on libcurl's own threads. HTTP/2 where TLS offers it, connections kept alive
// and shared, proxies from the environment, the system's CA store, compressed answers. Redirects
// are never followed, so that a key reaches only the host it is meant for. Loop thread.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/task_group.h"

namespace reef::http {

using Headers = std::vector<std::pair<std::string, std::string>>;

struct Request {
  std::string method = "POST";
  std::string url;
  Headers headers;
  std::string body;
  // For a server on this machine: sends only if our own user or root listens there, since another
  // user may have taken the port.
  bool own_user_only = false;
};

struct Timeouts {
  std::chrono::milliseconds connect{15'000};      // name, TCP and TLS together
  std::chrono::milliseconds first_byte{180'000};  // from the request to the head of its answer
  std::chrono::milliseconds idle{120'000};        // the longest silence in a body
};

struct Exchange;
struct Multi;

// An answer whose head has arrived. Destroying it before the end closes the socket over HTTP/1.1
// and the stream over HTTP/2.
class Response {
 public:
  explicit Response(std::unique_ptr<Exchange> exchange);
  Response(Response&&) noexcept;
  Response& operator=(Response&&) noexcept;
  ~Response();

  int status() const;
  const Headers& headers() const;  // names in lower case
  // Returns what came since the last call, waiting for at least one byte; empty at the end. When
  // nobody reads, at most kBufferBytesMax are held and the peer has to wait.
  Task<Result<std::string>> read();

 private:
  friend class Client;
  std::unique_ptr<Exchange> exchange_;
};

inline constexpr std::size_t kBufferBytesMax = 256U << 10;

// Returns nullptr when there is no such header. `name` must be in lower case.
const std::string* find_header(const Headers& headers, std::string_view name);
// Reads the rest of the body, at most `bytes_max` of it.
Task<Result<std::string>> read_body(Response& answer, std::size_t bytes_max);

class Client {
 public:
  explicit Client(Executor loop);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Returns once the head of the answer is there, whatever its status. Errors: `timeout`,
  // `unavailable` (no connection, or lost), `invalid` (a request that cannot be sent). Cancelling
  // the task closes the connection and unwinds with operation_aborted. `ca_file` is trusted instead
  // of the system's store.
  Task<Result<Response>> send(Request request, Timeouts timeouts, std::string ca_file = {});

  // Reads the rest of an unwanted answer for a moment, so that its connection can serve the next
  // request.
  void drain(Response answer);

  // Fails the requests under way, accepts no new ones, and returns when every connection is closed.
  Task<void> stop();

  std::size_t in_flight() const;

 private:
  static Task<void> drain_soon(Response answer);

  Executor loop_;
  std::shared_ptr<Multi> multi_;  // from the first request on
  bool stopping_ = false;
  TaskGroup drains_;
};

}  // namespace reef::http
