// The servers that agents have declared. Declarations with equal settings share one connection,
// which is made when first needed, closed after a long idle time and made again on demand. A server
// that hangs or fails affects only the calls to it. Loop thread.
#pragma once

#include <deque>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/notify.h"
#include "base/task_group.h"
#include "mcp/peer.h"

namespace reef::oauth {
class Accounts;
}

namespace reef::mcp {

enum class State : std::uint8_t {
  unknown,
  connecting,
  connected,
  disconnected,
  failed,
  needs_login,  // by a user; the error tells how
};

// Returns the command with which a user logs in.
std::string login_command(const std::string& agent, const std::string& server);

// We know this about a declared server without asking it.
struct Listing {
  std::string agent;
  Spec spec;
  State state = State::unknown;
  std::string error;
  PeerInfo info;
  std::vector<Tool> tools;  // kept while it is not connected, once they were listed
  std::string login = {};   // the issuer of the login
};

struct Event {
  State state = State::unknown;
  std::string agent, server;
  std::vector<std::string> tools = {};
  std::string error = {};
  TimePoint time = {};
};

// The events of all servers, for one reader. If the reader lags far behind, the oldest are dropped.
class Feed {
 public:
  static constexpr std::size_t kEventsMax = 4096;

  explicit Feed(const Executor& loop) : changed_(loop) {}
  Task<Event> next();

 private:
  friend class Connections;
  void push(Event event);

  std::deque<Event> queue_;
  Notify changed_;
};

class Connections {
  struct Entry;

 public:
  struct Needs {
    Executor loop;
    Clock& clock;
    std::function<http::Client&()> http;
    // Fetches a secret from its source (env:NAME, cmd:COMMAND), or returns the literal text.
    std::function<Task<Result<std::string>>(std::string source)> fetch;
    // Returns the address of a component and the token it expects (may be empty); nullopt when it
    // is not running. If not set, there are no components.
    struct Place {
      std::string url, token;
    };
    std::function<std::optional<Place>(const std::string& name)> find_component = {};
    // A random number that spreads attempts; if not set, the pauses are exact.
    std::function<std::uint64_t()> chance = {};
    // The accounts for logins; nullptr when there are none.
    oauth::Accounts* accounts = nullptr;
    // Returns how long a server that nobody uses stays connected; if not set, half an hour.
    std::function<std::chrono::milliseconds()> idle = {};
  };

  explicit Connections(Needs needs);
  ~Connections();
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;

  // Called when the tools of an agent's servers have changed; must return at once.
  void on_tools_changed(std::function<void(const std::string& agent)> told) {
    told_ = std::move(told);
  }

  // Replaces the servers of an agent. Nothing is connected yet. A server that nobody has any more
  // is closed after the current round of changes, so one declared again in the same round stays
  // connected.
  void declare(const std::string& agent, const std::vector<Spec>& servers);
  void withdraw(const std::string& agent) { declare(agent, {}); }

  // Call it when a component came, went or moved: its servers are connected to the new address.
  void component_changed(const std::string& name);

  // Returns the account for a server whose credential is not configured; nullptr for others.
  std::shared_ptr<oauth::Account> account_of(const Spec& spec) const;
  // Call it after a login or logout, or when a login is needed: connections are adapted.
  void account_changed(const oauth::Account& account);

  // Lists servers in the order of declaration; those of all agents when none is named.
  std::vector<Listing> list(const std::string& agent = {}) const;
  // Connects those servers of an agent that were never connected. Waits only for first attempts,
  // each at most `patience` from its start.
  Task<void> warm(std::string agent, std::chrono::milliseconds patience);

  // Holds a connection in use, so that it is not closed as idle.
  class Lease {
   public:
    Lease(std::shared_ptr<Entry> entry, std::shared_ptr<Peer> peer);
    Lease(Lease&&) = default;
    Lease& operator=(Lease&&) = delete;
    ~Lease();
    Peer& operator*() const { return *peer_; }
    Peer* operator->() const { return peer_.get(); }

   private:
    friend class Connections;
    std::shared_ptr<Entry> entry_;
    std::shared_ptr<Peer> peer_;
  };
  // Returns a connection, or the reason why there is none. not_found when the agent has no such
  // server.
  Task<Result<Lease>> use(std::string agent, std::string server);
  // Connects anew, or returns why that failed; calls running on the old connection fail.
  Task<Status> reconnect(std::string agent, std::string server);
  // Call it when the server has forgotten the session: the next use() connects anew.
  void drop(const Lease& lease);
  // Calls a tool. When the server has forgotten the session it has done nothing, so the call is
  // repeated once on a new connection.
  Task<Result<CallResult>> call(std::string agent, std::string server, std::string tool,
                                json::object arguments, CallOptions options);

  // Makes a separate connection for a look at the server; the caller closes it.
  Task<Result<std::shared_ptr<Peer>>> connect_alone(Spec spec);

  // Delivers the state of every server ever tried, then the events.
  std::shared_ptr<Feed> subscribe();

  // The number of open connections.
  std::size_t connections() const;
  // Returns when every server is closed.
  Task<void> stop();

 private:
  using Entries = std::map<std::string, std::shared_ptr<Entry>>;  // by fingerprint

  std::shared_ptr<Entry> find(const std::string& agent, const std::string& server) const;
  void begin_connecting(const std::shared_ptr<Entry>& entry);
  Task<void> connect(std::shared_ptr<Entry> entry);
  Task<Status> connect_now(std::shared_ptr<Entry> entry);
  Task<Result<Resolved>> resolve(Spec spec);
  void begin_listing(const std::shared_ptr<Entry>& entry);
  Task<void> list_again(std::shared_ptr<Entry> entry);
  void take_tools(Entry& entry, std::vector<Tool> tools);
  void lose(Entry& entry, const std::shared_ptr<Peer>& peer, Error why);
  void fail(Entry& entry, Error why);
  // Call it when a connection ended. Returns whether it lasted; if so, it counts as a success.
  static bool lasted(Entry& entry);
  static void forget_failures(Entry& entry);
  void set_state(Entry& entry, State state, std::string error);
  void publish(const Event& event);
  void tell_departures();
  void close_soon(std::shared_ptr<Peer> peer);
  static Task<void> close_one(std::shared_ptr<Peer> peer);
  Task<void> let_go();
  std::chrono::milliseconds idle() const;
  Task<void> reap();

  Needs needs_;
  std::function<void(const std::string&)> told_;
  // The servers of each agent with their fingerprints, in its order.
  std::map<std::string, std::vector<std::pair<Spec, std::string>>> declared_;
  Entries entries_;
  // Servers that agents had before the current round of changes.
  struct Departure {
    std::string agent, server, key;
    State state;
  };
  std::vector<Departure> departures_;
  std::list<std::weak_ptr<Feed>> feeds_;
  bool stopping_ = false;
  bool letting_go_ = false;
  bool reaping_ = false;
  TaskGroup closing_;
  TaskGroup tasks_;
};

}  // namespace reef::mcp
