// One connected server, whatever its revision and transport: its tools, resources and prompts, and
// its questions to the user. Any number of calls may run at once; answers are matched by id. Loop
// thread.
//
// It speaks revision 2026-07-28, which has no handshake (every request carries the client's name),
// and 2024-11-05 to 2025-11-25, which have one. It asks the server to find out which.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/notify.h"
#include "base/task_group.h"
#include "mcp/content.h"
#include "mcp/transport.h"
#include "rpc/calls.h"

namespace reef::mcp {

struct Progress {
  double done = 0;
  double total = 0;  // 0 when unknown
  std::string message;
};

// A question that a server asks the user during a call.
struct Elicitation {
  std::string message;
  json::object schema = {};  // for a flat object
  std::string url = {};      // used instead: a page that the user should visit
};
struct Elicited {
  enum class Action : std::uint8_t { accept, decline, cancel };
  Action action = Action::cancel;
  json::object content = {};
};

struct CallOptions {
  std::function<void(Progress)> progress = {};
  std::function<Task<Elicited>(Elicitation)> elicit = {};
  // The owner of the call. A question that does not name its call reaches the user only when all
  // running calls have the same owner, so it never reaches somebody else's user.
  std::string owner = {};
};

struct PeerInfo {
  std::string server;     // name and version that the server states
  std::string version;    // the revision that we speak
  std::string transport;  // stdio, http, sse
  std::string instructions;
  bool tools = false, resources = false, prompts = false;
};

class Peer : public std::enable_shared_from_this<Peer> {
 public:
  struct Needs {
    Executor loop;
    http::Client& http;
  };
  // Both functions must return at once.
  struct Watch {
    std::function<void()> on_tools_changed = {};
    std::function<void(Error)> on_closed = {};  // no call is possible any more
  };

  // Cancelling it leaves nothing behind.
  static Task<Result<std::shared_ptr<Peer>>> connect(Needs needs, Resolved server, Watch watch);

  Peer(Needs needs, Resolved server, Watch watch);
  ~Peer();

  const PeerInfo& info() const { return info_; }
  bool closed() const { return closed_.has_value(); }
  std::size_t calls() const;

  // Reads all pages. Invalid tools are left out and logged.
  Task<Result<std::vector<Tool>>> list_tools();
  // Fails with `gone` when the server has forgotten the session: nothing was done, and the call may
  // be repeated on a new connection.
  Task<Result<CallResult>> call_tool(std::string name, json::object arguments, CallOptions options);
  Task<Result<std::vector<Resource>>> list_resources();
  Task<Result<std::vector<Resource>>> list_templates();
  Task<Result<json::object>> read_resource(std::string uri, CallOptions options);
  Task<Result<std::vector<Prompt>>> list_prompts();
  Task<Result<json::object>> get_prompt(std::string name, json::object arguments,
                                        CallOptions options);
  Task<Status> ping();

  // Fails the running calls; returns when nothing is left.
  Task<void> close();

 private:
  struct Pending;
  struct Owner;

  Receiver receiver();
  Task<Status> open();
  enum class Probe : std::uint8_t { modern, legacy, silent };
  Task<Result<Probe>> discover(std::chrono::milliseconds patience);
  Task<Status> initialize();
  Task<Status> shake_hands();
  void learn(const json::object& result);
  void begin_listening();

  Task<rpc::Outcome> exchange(std::string method, json::object params, CallOptions options,
                              std::chrono::milliseconds timeout, http::Headers headers = {});
  // Goes through the rounds of questions that a server may ask before it answers.
  Task<Result<json::object>> request(std::string method, json::object params, CallOptions options,
                                     http::Headers headers = {});
  Task<Result<json::object>> supply(const json::object& wanted, const CallOptions& options);
  Task<Result<json::array>> list(std::string method, std::string key);
  Result<json::object> result_of(rpc::Outcome answer) const;
  http::Headers headers_for(std::string_view method, const json::object& params) const;
  json::object meta() const;
  static Task<void> send_soon(std::shared_ptr<Peer> self, std::shared_ptr<Pending> pending,
                              Outgoing out);
  Task<Status> send_within(Outgoing out, std::chrono::milliseconds patience);
  static Task<void> notify_soon(std::shared_ptr<Peer> self, Outgoing out);
  void notify(std::string_view method, json::object params);

  void hear(Incoming incoming);
  void take_answer(rpc::Message message);
  void take_notification(const rpc::Message& message);
  void take_request(rpc::Message message, std::optional<std::int64_t> during);
  std::shared_ptr<Owner> owner_of(const CallOptions& options);
  std::shared_ptr<Pending> asked_in(std::optional<std::int64_t> during) const;
  static Task<void> answer_request(std::shared_ptr<Peer> self, CallOptions options,
                                   std::weak_ptr<Owner> owner, rpc::Message message);
  Task<Result<json::object>> answer_to(std::string method, json::object params,
                                       const CallOptions& options);
  static Task<void> keep_subscribed(std::shared_ptr<Peer> self);
  void end(Error why);
  void give_up(std::int64_t id);

  Needs needs_;
  Resolved server_;
  Watch watch_;
  PeerInfo info_;
  json::object capabilities_;  // of the server
  bool modern_ = false;
  std::string version_;
  std::unique_ptr<Transport> transport_;
  std::vector<std::unique_ptr<Transport>> before_;  // tried, closed; their messages may still
                                                    // arrive
  rpc::Calls<Pending> pending_;
  std::map<std::string, std::weak_ptr<Owner>> owners_;    // of running calls
  std::map<std::string, Tool, std::less<>> known_tools_;  // for the headers of calls
  std::optional<Error> closed_;
  std::size_t logged_ = 0;
  TaskGroup background_;
};

}  // namespace reef::mcp
