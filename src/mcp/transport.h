// Carries messages to one server and back. A transport knows nothing about their meaning; the peer
// (peer.h) does. Loop thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/task.h"
#include "http/http.h"
#include "mcp/spec.h"
#include "rpc/message.h"

namespace reef::oauth {
class Account;
}

namespace reef::mcp {

struct Outgoing {
  json::object message;
  std::optional<std::int64_t> id = {};  // set for a request, which gets an answer
  http::Headers headers = {};           // only for transports that have headers
};

struct Incoming {
  rpc::Message message;
  // Our request in whose answer it came, if the transport can tell.
  std::optional<std::int64_t> during = {};
};

// Receives what comes in. Neither function may be called once close() has begun.
struct Receiver {
  std::function<void(Incoming)> on_message;
  // Says that nothing will come any more, and why.
  std::function<void(Error)> on_closed;
};

class Transport {
 public:
  virtual ~Transport() = default;

  virtual std::string_view kind() const = 0;  // stdio, http, sse

  // Sends a message. For a request it may return only after the answer was heard; an error means
  // that no answer will come. Cancelling it gives the request up.
  //   unsupported   the server does not take such messages here: another era, or another transport
  //   gone          the server has forgotten the session
  //   unauthorized, denied, unavailable, timeout, busy
  virtual Task<Status> send(Outgoing out) = 0;

  // Sets the revision agreed on, which applies from now on.
  virtual void use_version(std::string version) { (void)version; }
  // Call it after the handshake: begins to receive messages of the server's own.
  virtual void listen() {}
  // Ends the connection in order. Destroying the transport without it is abrupt.
  virtual Task<void> close() = 0;
};

// A spec with its secrets fetched.
struct Resolved {
  Spec spec;
  Secrets secrets = {};
  // The account whose tokens are sent; null when the credential is configured.
  std::shared_ptr<oauth::Account> account = {};

  // Removes all secrets from text that others wrote.
  std::string scrub(std::string text) const;
};

// Starts the program in its own process group.
Task<Result<std::unique_ptr<Transport>>> start_stdio(Executor loop, Resolved server,
                                                     Receiver receiver);
// Streamable HTTP; sends nothing yet.
std::unique_ptr<Transport> make_http(Executor loop, http::Client& client, Resolved server,
                                     Receiver receiver);
// HTTP+SSE of 2024-11-05: opens the stream and waits for the address for messages.
Task<Result<std::unique_ptr<Transport>>> open_sse(Executor loop, http::Client& client,
                                                  Resolved server, Receiver receiver);

}  // namespace reef::mcp
