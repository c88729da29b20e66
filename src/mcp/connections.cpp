#include "mcp/connections.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/log.h"
#include "base/utf8.h"
#include "mcp/backoff.h"
#include "oauth/accounts.h"

namespace reef::mcp {
namespace {

using std::chrono::milliseconds;

// A connection that ends this soon counts as failed.
constexpr milliseconds kTooSoon{10'000};
// A call waits this long for the next attempt; if that is further off, it gets the last error.
constexpr milliseconds kWorthWaiting{2'000};
constexpr milliseconds kConnectPatience{90'000};
constexpr milliseconds kBackoffMin{1'000}, kBackoffMax{60'000};
constexpr milliseconds kIdleDefault = std::chrono::minutes(30);
constexpr milliseconds kReapMin{50}, kReapMax{30'000};

std::string_view word_for(State state) {
  switch (state) {
    case State::unknown:
      return "unknown";
    case State::connecting:
      return "connecting";
    case State::connected:
      return "connected";
    case State::disconnected:
      return "disconnected";
    case State::failed:
      return "failed";
    case State::needs_login:
      return "needs login";
  }
  return "unknown";
}

Error wants_login(const std::string& agent, const std::string& server) {
  return Error(Errc::unauthorized,
               fmt::format("server '{}' wants a login: {}", server, login_command(agent, server)));
}

using Owners = std::set<std::pair<std::string, std::string>>;  // agent, name

void tell(const Owners& owners, const std::function<void(const std::string&)>& told) {
  if (!told) return;
  std::set<std::string> agents;
  for (const auto& [agent, name] : owners) agents.insert(agent);
  for (const auto& agent : agents) told(agent);
}

}  // namespace

std::string login_command(const std::string& agent, const std::string& server) {
  return fmt::format("reef mcp login {} -a {}", server, agent);
}

struct Connections::Entry {
  Entry(const Executor& on, Spec what, Backoff pauses)
      : loop(on),
        spec(std::move(what)),
        backoff(pauses),
        changed(loop),
        connecting(loop, "mcp connect") {}

  Moment now() const { return steady_now(loop); }

  const Executor loop;
  const Spec spec;  // of the first agent that declared it; the name is only for the log
  Owners owners = {};
  State state = State::unknown;
  std::string error = {}, last_failure = {};
  std::shared_ptr<Peer> peer = {};
  std::shared_ptr<oauth::Account> account = {};
  PeerInfo info = {};
  std::vector<Tool> tools = {};
  bool listing = false, list_stale = false;
  bool ended = false;  // ended by itself, not by us
  Backoff backoff;
  Moment began = {};  // when the attempt or the connection began
  Moment next_attempt = {};
  Moment last_used = {};
  std::size_t in_use = 0;
  Notify changed;
  TaskGroup connecting;  // its attempt and its listing; cancelled with it
};

Task<Event> Feed::next() {
  while (queue_.empty()) co_await changed_.wait();
  auto event = std::move(queue_.front());
  queue_.pop_front();
  co_return event;
}

void Feed::push(Event event) {
  if (queue_.size() >= kEventsMax) queue_.pop_front();
  queue_.push_back(std::move(event));
  changed_.notify_all();
}

Connections::Lease::Lease(std::shared_ptr<Entry> entry, std::shared_ptr<Peer> peer)
    : entry_(std::move(entry)), peer_(std::move(peer)) {
  ++entry_->in_use;
}

Connections::Lease::~Lease() {
  if (!entry_) return;
  --entry_->in_use;
  entry_->last_used = entry_->now();
}

Connections::Connections(Needs needs)
    : needs_(std::move(needs)),
      closing_(needs_.loop, "mcp closing"),
      tasks_(needs_.loop, "mcp connections") {}

Connections::~Connections() = default;

// ---- declarations ----

void Connections::declare(const std::string& agent, const std::vector<Spec>& servers) {
  if (stopping_) return;
  if (const auto before = declared_.find(agent); before != declared_.end()) {
    for (const auto& [spec, key] : before->second) {
      departures_.push_back({agent, spec.name, key, entries_.at(key)->state});
      entries_.at(key)->owners.erase({agent, spec.name});
    }
    declared_.erase(before);
  }
  for (const auto& spec : servers) {
    auto key = fingerprint(spec);
    auto& entry = entries_[key];
    if (!entry) {
      entry = std::make_shared<Entry>(needs_.loop, spec, Backoff{kBackoffMin, kBackoffMax});
      entry->account = account_of(spec);
    }
    entry->owners.insert({agent, spec.name});
    declared_[agent].emplace_back(spec, std::move(key));
  }
  const bool unowned = std::any_of(entries_.begin(), entries_.end(),
                                   [](const auto& entry) { return entry.second->owners.empty(); });
  if ((unowned || !departures_.empty()) && !std::exchange(letting_go_, true))
    tasks_.spawn(let_go());
}

// Runs after the current round of changes.
Task<void> Connections::let_go() {
  co_await yield_to_loop();
  letting_go_ = false;
  tell_departures();
  for (auto it = entries_.begin(); it != entries_.end();) {
    const auto entry = it->second;
    if (!entry->owners.empty()) {
      ++it;
      continue;
    }
    it = entries_.erase(it);
    entry->connecting.cancel();
    entry->state = State::disconnected;
    entry->error = "it is not configured any more";
    entry->changed.notify_all();
    if (entry->peer) close_soon(std::exchange(entry->peer, nullptr));
  }
}

// Tells the subscribers which servers an agent no longer has; one declared again in the same round
// never left.
void Connections::tell_departures() {
  for (const auto& [agent, server, key, state] : std::exchange(departures_, {})) {
    if (state == State::unknown || state == State::disconnected) continue;
    const auto now = declared_.find(agent);
    const bool is_back = now != declared_.end() &&
                         std::any_of(now->second.begin(), now->second.end(), [&](const auto& one) {
                           return one.first.name == server && one.second == key;
                         });
    if (!is_back)
      publish({State::disconnected,
               agent,
               server,
               {},
               "it is not configured any more",
               needs_.clock.now()});
  }
}

std::vector<Listing> Connections::list(const std::string& agent) const {
  std::vector<Listing> out;
  for (const auto& [name, servers] : declared_) {
    if (!agent.empty() && name != agent) continue;
    for (const auto& [spec, key] : servers) {
      const auto& entry = *entries_.at(key);
      Listing one{name, spec, entry.state, entry.error, entry.info, entry.tools};
      if (entry.state == State::needs_login) one.error = login_command(name, spec.name);
      if (entry.account && entry.account->grant()) one.login = entry.account->grant()->issuer;
      out.push_back(std::move(one));
    }
  }
  return out;
}

std::shared_ptr<Connections::Entry> Connections::find(const std::string& agent,
                                                      const std::string& server) const {
  const auto found = declared_.find(agent);
  if (found == declared_.end()) return nullptr;
  for (const auto& [spec, key] : found->second)
    if (spec.name == server) return entries_.at(key);
  return nullptr;
}

// ---- connecting ----

void Connections::begin_connecting(const std::shared_ptr<Entry>& entry) {
  if (stopping_ || entry->state == State::connecting || entry->state == State::connected) return;
  entry->began = entry->now();
  set_state(*entry, State::connecting, {});
  entry->connecting.spawn(connect(entry));
  if (!std::exchange(reaping_, true)) tasks_.spawn(reap());
}

Task<void> Connections::connect(std::shared_ptr<Entry> entry) {
  co_await yield_to_loop();
  auto done = co_await connect_now(entry);
  if (done) co_return;
  if (auto peer = std::exchange(entry->peer, nullptr)) close_soon(std::move(peer));
  fail(*entry, std::move(done).error());
}

Task<Result<Resolved>> Connections::resolve(Spec spec) {
  Resolved out;
  if (spec.component) {
    auto place = needs_.find_component ? needs_.find_component(spec.name) : std::nullopt;
    if (!place)
      co_return Error(Errc::unavailable,
                      fmt::format("there is no server '{}' in config.toml, and no "
                                  "component of that name runs",
                                  spec.name));
    spec.url = std::move(place->url);
    if (!place->token.empty()) {
      out.secrets.add(place->token);
      spec.headers["Authorization"] = "Bearer " + place->token;
    }
  }
  const auto fetch = [&](std::string& value, std::string_view what) -> Task<Status> {
    auto fetched = co_await needs_.fetch(value);
    if (!fetched) co_return std::move(fetched).error().with(what);
    // Fetched values are secrets and must never be shown.
    out.secrets.add(*fetched);
    value = *std::move(fetched);
    co_return Ok{};
  };
  for (auto& [name, value] : spec.env) REEF_CO_CHECK(co_await fetch(value, "env " + name));
  for (auto& [name, value] : spec.headers) REEF_CO_CHECK(co_await fetch(value, "header " + name));
  if (!spec.auth.empty()) REEF_CO_CHECK(co_await fetch(spec.auth, "auth"));
  const auto shown = masked(spec);
  for (std::size_t i = 0; i < spec.args.size(); ++i)
    if (spec.args[i] != shown.args[i])
      out.secrets.add(
          spec.args[i].substr(shown.args[i] == kMasked ? 0 : spec.args[i].find('=') + 1));
  out.account = account_of(spec);
  out.spec = std::move(spec);
  co_return out;
}

Task<Status> Connections::connect_now(std::shared_ptr<Entry> entry) {
  REEF_CO_TRY(auto resolved, co_await resolve(entry->spec));
  const std::weak_ptr<Entry> weak = entry;
  Peer::Watch watch;
  watch.on_tools_changed = [this, weak] {
    if (const auto it = weak.lock(); it && it->peer) begin_listing(it);
  };
  watch.on_closed = [this, weak](Error why) {
    if (const auto it = weak.lock(); it && it->peer) lose(*it, it->peer, std::move(why));
  };
  const Peer::Needs needs{needs_.loop, needs_.http()};
  REEF_CO_TRY(auto peer, co_await Peer::connect(needs, std::move(resolved), std::move(watch)));
  // From here on the peer is kept, so that a failure closes it in order.
  entry->peer = peer;
  REEF_CO_TRY(auto tools, co_await peer->list_tools());
  if (peer->closed()) co_return Error(Errc::unavailable, "it ended right away");
  entry->info = peer->info();
  entry->last_failure.clear();
  entry->began = entry->last_used = entry->now();
  take_tools(*entry, std::move(tools));
  set_state(*entry, State::connected, {});
  log::info("mcp {}: connected to {} ({}, {}), {} tool(s)", entry->spec.name,
            entry->info.server.empty() ? "a server without a name" : entry->info.server,
            entry->info.version, entry->info.transport, entry->tools.size());
  co_return Ok{};
}

void Connections::fail(Entry& entry, Error why) {
  entry.ended = true;
  entry.next_attempt = entry.now() + entry.backoff.fail(needs_.chance ? needs_.chance() : 0);
  // Logs the same failure only once, however often it is tried.
  if (why.what != entry.last_failure) log::warn("mcp {}: {}", entry.spec.name, why.what);
  entry.last_failure = why.what;
  const bool login = why.code == Errc::unauthorized && entry.account;
  set_state(entry, login && entry.account->needs_login() ? State::needs_login : State::failed,
            std::move(why.what));
}

// ---- logins ----

std::shared_ptr<oauth::Account> Connections::account_of(const Spec& spec) const {
  const auto is_authorization = [](const auto& header) {
    return utf8::lower_ascii(header.first) == "authorization";
  };
  if (!needs_.accounts || spec.url.empty() || spec.component || !spec.auth.empty() ||
      std::any_of(spec.headers.begin(), spec.headers.end(), is_authorization))
    return nullptr;
  return needs_.accounts->account(spec.url, spec.oauth);
}

void Connections::account_changed(const oauth::Account& account) {
  if (stopping_) return;
  for (const auto& [key, entry] : entries_) {
    // An attempt under way learns about it by itself.
    if (entry->account.get() != &account || entry->state == State::connecting ||
        entry->state == State::unknown)
      continue;
    if (!account.needs_login()) {
      if (entry->state == State::connected) continue;
      forget_failures(*entry);
      begin_connecting(entry);
    } else if (entry->state == State::connected) {
      if (entry->peer) close_soon(std::exchange(entry->peer, nullptr));
      fail(*entry, Error(Errc::unauthorized, "the server wants a login"));
    }
  }
}

// Called when the server has moved or our login has changed.
void Connections::forget_failures(Entry& entry) {
  entry.ended = false;
  entry.backoff.succeed();
  entry.next_attempt = entry.now();
}

void Connections::component_changed(const std::string& name) {
  for (const auto& [key, entry] : entries_) {
    if (!entry->spec.component || entry->spec.name != name) continue;
    entry->connecting.cancel();
    entry->listing = false;
    forget_failures(*entry);
    if (entry->peer) close_soon(std::exchange(entry->peer, nullptr));
    const bool here = needs_.find_component && needs_.find_component(name).has_value();
    set_state(*entry, State::disconnected, here ? "" : "the component is gone");
    if (here) begin_connecting(entry);
  }
}

bool Connections::lasted(Entry& entry) {
  if (entry.now() - entry.began < kTooSoon) return false;
  entry.backoff.succeed();
  return true;
}

// Handles the end of a connection.
void Connections::lose(Entry& entry, const std::shared_ptr<Peer>& peer, Error why) {
  if (entry.peer != peer) return;
  // An attempt under way notices it by itself.
  if (entry.state == State::connecting) return;
  close_soon(std::exchange(entry.peer, nullptr));
  entry.ended = true;
  if (!lasted(entry)) return fail(entry, std::move(why));
  entry.next_attempt = entry.now();
  log::warn("mcp {}: {}", entry.spec.name, why.what);
  set_state(entry, State::disconnected, std::move(why.what));
}

void Connections::drop(const Lease& lease) {
  auto& entry = *lease.entry_;
  if (entry.peer != lease.peer_) return;
  close_soon(std::exchange(entry.peer, nullptr));
  static_cast<void>(lasted(entry));
  entry.next_attempt = entry.now();
  set_state(entry, State::disconnected, "the server has forgotten the session");
}

// ---- tools ----

void Connections::begin_listing(const std::shared_ptr<Entry>& entry) {
  entry->list_stale = true;
  if (entry->state == State::connected && !std::exchange(entry->listing, true))
    entry->connecting.spawn(list_again(entry));
}

Task<void> Connections::list_again(std::shared_ptr<Entry> entry) {
  co_await yield_to_loop();
  while (entry->list_stale && entry->peer) {
    entry->list_stale = false;
    const auto peer = entry->peer;
    auto tools = co_await peer->list_tools();
    if (entry->peer != peer) break;
    if (tools) {
      take_tools(*entry, *std::move(tools));
      set_state(*entry, State::connected, {});
    } else {
      log::warn("mcp {}: its tools could not be listed again: {}", entry->spec.name,
                tools.error().what);
    }
  }
  entry->listing = false;
}

void Connections::take_tools(Entry& entry, std::vector<Tool> tools) {
  const auto same = [](const Tool& a, const Tool& b) {
    return a.name == b.name && a.description == b.description && a.schema == b.schema &&
           a.read_only == b.read_only;
  };
  const bool unchanged =
      std::equal(tools.begin(), tools.end(), entry.tools.begin(), entry.tools.end(), same);
  entry.tools = std::move(tools);
  if (!unchanged) tell(entry.owners, told_);
}

// ---- use ----

Task<void> Connections::warm(std::string agent, milliseconds patience) {
  std::vector<std::shared_ptr<Entry>> waited;
  const auto found = declared_.find(agent);
  if (found == declared_.end()) co_return;
  for (const auto& [spec, key] : found->second) {
    const auto& entry = entries_.at(key);
    const bool known = !entry->info.version.empty();
    const bool left_alone = entry->ended && !entry->spec.auto_restart;
    if (!known && !left_alone && entry->now() >= entry->next_attempt) begin_connecting(entry);
    if (entry->state == State::connecting && entry->backoff.failures == 0 && !known)
      waited.push_back(entry);
  }
  for (const auto& entry : waited) {
    const auto left = entry->began + patience - steady_now(needs_.loop);
    const auto tried = [entry] { return entry->state != State::connecting; };
    static_cast<void>(co_await entry->changed.wait_for(left, tried));
  }
}

Task<Result<Connections::Lease>> Connections::use(std::string agent, std::string server) {
  const auto entry = find(agent, server);
  if (!entry)
    co_return Error(Errc::not_found, fmt::format("agent '{}' has no server '{}'", agent, server));
  const auto deadline = entry->now() + kConnectPatience;
  bool tried = false;
  for (;;) {
    if (stopping_) co_return Error(Errc::unavailable, "the daemon is shutting down");
    if (entry->state == State::connected && entry->peer) co_return Lease(entry, entry->peer);
    if (entry->state != State::connecting) {
      if (tried || entry->owners.empty()) break;
      if (entry->state == State::needs_login && entry->now() < entry->next_attempt)
        co_return wants_login(agent, server);
      if (entry->ended && !entry->spec.auto_restart)
        co_return Error(Errc::unavailable,
                        fmt::format("server '{}' has ended and is not started again "
                                    "(auto_restart is false): {}",
                                    server, entry->error));
      const auto now = entry->now();
      if (const auto left = entry->next_attempt - now; left > kWorthWaiting) {
        co_return Error(
            Errc::unavailable,
            fmt::format("server '{}' cannot be reached: {}; it is tried again in {} s", server,
                        entry->error,
                        std::chrono::duration_cast<std::chrono::seconds>(left).count() + 1));
      } else if (left.count() > 0) {
        co_await sleep_for(left);
        continue;
      }
      tried = true;
      begin_connecting(entry);
    }
    tried = true;
    if (entry->now() >= deadline)
      co_return Error(Errc::timeout, fmt::format("server '{}' is still being connected", server));
    static_cast<void>(co_await entry->changed.wait_until(deadline));
  }
  if (entry->state == State::needs_login) co_return wants_login(agent, server);
  co_return Error(Errc::unavailable,
                  fmt::format("server '{}' cannot be reached: {}", server, entry->error));
}

Task<Status> Connections::reconnect(std::string agent, std::string server) {
  const auto entry = find(agent, server);
  if (!entry)
    co_return Error(Errc::not_found, fmt::format("agent '{}' has no server '{}'", agent, server));
  if (entry->peer) close_soon(std::exchange(entry->peer, nullptr));
  if (entry->state != State::connecting) {
    forget_failures(*entry);
    set_state(*entry, State::disconnected, {});
  }
  const auto lease = co_await use(agent, server);
  if (!lease) co_return lease.error();
  co_return Ok{};
}

Task<Result<CallResult>> Connections::call(std::string agent, std::string server, std::string tool,
                                           json::object arguments, CallOptions options) {
  for (int attempt = 0;; ++attempt) {
    REEF_CO_TRY(const auto lease, co_await use(agent, server));
    auto result = co_await lease->call_tool(tool, arguments, options);
    if (!result && result.error().code == Errc::unauthorized && lease.entry_->account)
      result.error().what += ": " + login_command(agent, server);
    if (result || result.error().code != Errc::gone || attempt > 0) co_return result;
    drop(lease);
  }
}

Task<Result<std::shared_ptr<Peer>>> Connections::connect_alone(Spec spec) {
  REEF_CO_TRY(auto resolved, co_await resolve(std::move(spec)));
  const Peer::Needs needs{needs_.loop, needs_.http()};
  Peer::Watch nobody;
  co_return co_await Peer::connect(needs, std::move(resolved), std::move(nobody));
}

// ---- events ----

void Connections::set_state(Entry& entry, State state, std::string error) {
  const bool wanted_login = std::exchange(entry.state, state) == State::needs_login;
  entry.error = std::move(error);
  entry.changed.notify_all();
  Event event{state, {}, {}, {}, entry.error, needs_.clock.now()};
  if (state == State::connected)
    for (const auto& tool : entry.tools) event.tools.push_back(tool.name);
  for (const auto& [agent, server] : entry.owners) {
    event.agent = agent;
    event.server = server;
    if (state == State::needs_login) event.error = login_command(agent, server);
    publish(event);
  }
  log::debug("mcp {}: {}", entry.spec.name, word_for(state));
  // Agents show whether a login is needed.
  if (wanted_login != (state == State::needs_login)) tell(entry.owners, told_);
}

void Connections::publish(const Event& event) {
  for (auto it = feeds_.begin(); it != feeds_.end();) {
    if (const auto feed = it->lock()) {
      feed->push(event);
      ++it;
    } else {
      it = feeds_.erase(it);
    }
  }
}

std::shared_ptr<Feed> Connections::subscribe() {
  auto feed = std::make_shared<Feed>(needs_.loop);
  for (const auto& listing : list()) {
    if (listing.state == State::unknown) continue;
    Event event{listing.state, listing.agent,     listing.spec.name, {},
                listing.error, needs_.clock.now()};
    if (listing.state == State::connected)
      for (const auto& tool : listing.tools) event.tools.push_back(tool.name);
    feed->push(std::move(event));
  }
  feeds_.push_back(feed);
  return feed;
}

std::size_t Connections::connections() const {
  return static_cast<std::size_t>(std::count_if(
      entries_.begin(), entries_.end(), [](const auto& entry) { return entry.second->peer; }));
}

// ---- the end of connections ----

void Connections::close_soon(std::shared_ptr<Peer> peer) {
  closing_.spawn(close_one(std::move(peer)));
}

Task<void> Connections::close_one(std::shared_ptr<Peer> peer) {
  co_await yield_to_loop();
  co_await peer->close();
}

milliseconds Connections::idle() const {
  return needs_.idle ? needs_.idle() : kIdleDefault;
}

Task<void> Connections::reap() {
  for (;;) {
    co_await sleep_for(std::clamp(idle() / 4, kReapMin, kReapMax));
    const auto now = steady_now(needs_.loop);
    for (const auto& [key, entry] : entries_) {
      if (entry->state != State::connected || entry->in_use > 0 || now - entry->last_used < idle())
        continue;
      close_soon(std::exchange(entry->peer, nullptr));
      entry->backoff.succeed();
      entry->next_attempt = now;
      set_state(*entry, State::disconnected, {});
      log::info("mcp {}: not used for {} s, disconnected", entry->spec.name,
                std::chrono::duration_cast<std::chrono::seconds>(idle()).count());
    }
  }
}

Task<void> Connections::stop() {
  stopping_ = true;
  tasks_.cancel();
  co_await tasks_.join();
  for (const auto& [key, entry] : entries_) {
    entry->connecting.cancel();
    if (entry->state != State::unknown && entry->state != State::disconnected)
      set_state(*entry, State::disconnected, "the daemon is shutting down");
    if (entry->peer) close_soon(std::exchange(entry->peer, nullptr));
  }
  for (const auto& [key, entry] : entries_) co_await entry->connecting.join();
  co_await closing_.join();
}

}  // namespace reef::mcp
