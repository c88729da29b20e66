// Table of contents of http/, and its face.
//
//   http.h      Client, Answer   this file
//   sse.h       Parser           server-sent events
//   url.h                        text in URLs
//   host.h                       whose machine a host is
//   library.h                    libcurl, loaded when it is first needed
//   multi.h                      its transfers on our loop
//
// Outbound HTTP on libcurl's multi interface, driven by the loop: nothing here blocks it, names are
// resolved on libcurl's own threads. HTTP/2 where TLS offers it, connections kept alive and shared,
// proxies from the environment, the system's CA store, compressed answers. Redirects are never
// followed: a key goes to the host it was meant for and nowhere else. Loop thread.
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
  // On this machine, and only when who listens there is our own user or root: another user may have
  // taken the port.
  bool own_user_only = false;
};

struct Timeouts {
  std::chrono::milliseconds connect{15'000};      // name, TCP and TLS together
  std::chrono::milliseconds first_byte{180'000};  // from the request to the head of its answer
  std::chrono::milliseconds idle{120'000};        // the longest silence in a body
};

struct Exchange;
struct Multi;

// An answer whose head is there. Destroying it before the end closes its stream at once: over
// HTTP/1.1 the socket, over HTTP/2 the stream.
class Answer {
 public:
  explicit Answer(std::unique_ptr<Exchange> exchange);
  Answer(Answer&&) noexcept;
  Answer& operator=(Answer&&) noexcept;
  ~Answer();

  int status() const;
  const Headers& headers() const;  // names in lower case
  // What came since the last call, waiting for the first byte of it; empty at the end. While nobody
  // reads, kBufferBytesMax are held and the peer has to wait.
  Task<Result<std::string>> read();

 private:
  friend class Client;
  std::unique_ptr<Exchange> exchange_;
};

inline constexpr std::size_t kBufferBytesMax = 256U << 10;

// nullptr when there is no such header. `name` in lower case.
const std::string* find_header(const Headers& headers, std::string_view name);
// The rest of the body, at most `bytes_max` of it.
Task<Result<std::string>> read_body(Answer& answer, std::size_t bytes_max);

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
  Task<Result<Answer>> send(Request request, Timeouts timeouts, std::string ca_file = {});

  // Reads what is left of an answer nobody needs any more, for a moment, so that its connection can
  // serve the next request.
  void drain(Answer answer);

  // Fails what is under way, takes nothing new, returns when every connection is closed.
  Task<void> stop();

  std::size_t in_flight() const;

 private:
  static Task<void> drain_soon(Answer answer);

  Executor loop_;
  std::shared_ptr<Multi> multi_;  // from the first request on
  bool stopping_ = false;
  TaskGroup drains_;
};

}  // namespace reef::http
