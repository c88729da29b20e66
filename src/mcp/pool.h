// The servers agents have declared. Agents own their declarations; what is equal in everything that
// matters is one connection, made when it is first needed, shared, taken down when nobody has used
// it for long and made again when somebody does. A server that hangs or fails concerns only those
// who wait for it. Loop thread.
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
  needs_login,  // by a user; the error says how
};

// What a user types to log in.
std::string login_command(const std::string& agent, const std::string& server);

// What is known of a declared server without asking it.
struct Listing {
  std::string agent;
  Spec spec;
  State state = State::unknown;
  std::string error;
  PeerInfo info;
  std::vector<Tool> tools;  // also while it is not connected, once they were listed
  std::string login = {};   // the issuer it is logged in with
};

struct Event {
  State state = State::unknown;
  std::string agent, server;
  std::vector<std::string> tools = {};
  std::string error = {};
  TimePoint time = {};
};

// What happens to all servers, for one reader. The oldest is dropped for one that lags far behind.
class Feed {
 public:
  static constexpr std::size_t kEventsMax = 4096;

  explicit Feed(const Executor& loop) : changed_(loop) {}
  Task<Event> next();

 private:
  friend class Pool;
  void push(Event event);

  std::deque<Event> queue_;
  Notify changed_;
};

class Pool {
  struct Entry;

 public:
  struct House {
    Executor loop;
    Clock& clock;
    std::function<http::Client&()> http;
    // A secret from where it is (env:NAME, cmd:COMMAND) or the words themselves.
    std::function<Task<Result<std::string>>(std::string source)> fetch;
    // Where a component is, and what it wants to see (may be empty); nothing when it is not there.
    // Not set: there are none.
    struct Place {
      std::string url, token;
    };
    std::function<std::optional<Place>(const std::string& name)> find_component = {};
    // Spreads attempts; not set: they come to the millisecond.
    std::function<std::uint64_t()> chance = {};
    // Who logs in. nullptr: nobody can.
    oauth::Accounts* accounts = nullptr;
  };
  struct Limits {
    std::chrono::milliseconds idle = std::chrono::minutes(30);
    std::chrono::milliseconds backoff_min{1'000}, backoff_max{60'000};
  };

  explicit Pool(House house);
  Pool(House house, Limits limits);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Told when the tools of an agent's servers are others than before; must return at once.
  void on_tools_changed(std::function<void(const std::string& agent)> told) {
    told_ = std::move(told);
  }
  void set_idle(std::chrono::milliseconds idle) { limits_.idle = idle; }

  // What an agent has, in place of what it had. Nothing is connected yet; what nobody has any more
  // is let go, soon: who goes and comes again at once keeps it.
  void declare(const std::string& agent, const std::vector<Spec>& servers);
  void withdraw(const std::string& agent) { declare(agent, {}); }

  // A component came, went or moved: those who have it are connected to where it is now.
  void component_changed(const std::string& name);

  // What a server is shown, where that is not configured: nullptr for others.
  std::shared_ptr<oauth::Account> account_of(const Spec& spec) const;
  // Somebody has logged in or out, or has to: connections follow.
  void account_changed(const oauth::Account& account);

  // In the order they were declared; of all agents when none is named.
  std::vector<Listing> list(const std::string& agent = {}) const;
  // Connects those of an agent that were never heard of; waits for them, at most `patience` from
  // the begin of an attempt, and only for the first one.
  Task<void> warm(std::string agent, std::chrono::milliseconds patience);

  // A connection while it is used: it is not taken down for being idle.
  class Lease {
   public:
    Lease(std::shared_ptr<Entry> entry, std::shared_ptr<Peer> peer);
    Lease(Lease&&) = default;
    Lease& operator=(Lease&&) = delete;
    ~Lease();
    Peer& operator*() const { return *peer_; }
    Peer* operator->() const { return peer_.get(); }

   private:
    friend class Pool;
    std::shared_ptr<Entry> entry_;
    std::shared_ptr<Peer> peer_;
  };
  // Connected, or why not. not_found when the agent has no such server.
  Task<Result<Lease>> use(std::string agent, std::string server);
  // Connected anew, or why not; calls that run on the old connection fail.
  Task<Status> reconnect(std::string agent, std::string server);
  // The server has forgotten us: the next use() connects anew.
  void drop(const Lease& lease);
  // Once more on a new connection when the server has forgotten us: it has done nothing then.
  Task<Result<CallResult>> call(std::string agent, std::string server, std::string tool,
                                json::object arguments, CallOptions options);

  // A connection of its own, for a look; whoever asked closes it.
  Task<Result<std::shared_ptr<Peer>>> connect_alone(Spec spec);

  // The state of everything that was ever tried, then what happens.
  std::shared_ptr<Feed> subscribe();

  // Connections that are up.
  std::size_t connections() const;
  // Returns when every server is gone.
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
  // It is over, by us or by it: one that lasted was a success.
  static bool lasted(Entry& entry);
  static void forget_failures(Entry& entry);
  void set_state(Entry& entry, State state, std::string error);
  void publish(const Event& event);
  void tell_departures();
  void close_soon(std::shared_ptr<Peer> peer);
  static Task<void> close_one(std::shared_ptr<Peer> peer);
  Task<void> let_go();
  Task<void> reap();

  House house_;
  Limits limits_;
  std::function<void(const std::string&)> told_;
  // What each agent has, in its order: name and fingerprint.
  std::map<std::string, std::vector<std::pair<Spec, std::string>>> declared_;
  Entries entries_;
  // Servers agents had until the round of changes that is under way.
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
