// How messages travel to one server and back. A transport knows nothing of what they mean; the peer
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
#include "mcp/json_rpc.h"
#include "mcp/spec.h"

namespace reef::oauth {
class Account;
}

namespace reef::mcp {

struct Outgoing {
  json::object message;
  std::optional<std::int64_t> id = {};  // of a request: its answer is waited for
  http::Headers headers = {};           // where there are any
};

struct Incoming {
  Message message;
  // The request of ours in whose answer it came, where the transport can tell.
  std::optional<std::int64_t> during = {};
};

// Who hears what comes. Neither may be called any more once close() has begun.
struct Ears {
  std::function<void(Incoming)> on_message;
  // Nothing comes any more, and why.
  std::function<void(Error)> on_closed;
};

class Transport {
 public:
  virtual ~Transport() = default;

  virtual std::string_view kind() const = 0;  // stdio, http, sse

  // Hands a message over. Of a request it may take until the answer was heard; an error means that
  // none will come. Cancelling it gives the request up.
  //   unsupported   the server does not take such messages here: another era, or another transport
  //   gone          the server has forgotten the session
  //   unauthorized, denied, unavailable, timeout, busy
  virtual Task<Status> send(Outgoing out) = 0;

  // The revision that was agreed on, from now on.
  virtual void use_version(std::string version) { (void)version; }
  // The handshake is over: what the server says on its own is wanted.
  virtual void listen() {}
  // An orderly end. Destroying it without is a rude one.
  virtual Task<void> close() = 0;
};

// A spec whose secrets have been fetched.
struct Resolved {
  Spec spec;
  Secrets secrets = {};
  // Whose tokens are shown; none where the credential is configured.
  std::shared_ptr<oauth::Account> account = {};

  // Takes everything secret out of the words of others.
  std::string scrub(std::string text) const;
};

// Starts the program, in a group of its own.
Task<Result<std::unique_ptr<Transport>>> start_stdio(Executor loop, Resolved server, Ears ears);
// Streamable HTTP; nothing is sent yet.
std::unique_ptr<Transport> make_http(Executor loop, http::Client& client, Resolved server,
                                     Ears ears);
// HTTP+SSE of 2024-11-05: opens its stream and waits for the address messages go to.
Task<Result<std::unique_ptr<Transport>>> open_sse(Executor loop, http::Client& client,
                                                  Resolved server, Ears ears);

}  // namespace reef::mcp
