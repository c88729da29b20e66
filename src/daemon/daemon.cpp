#include "daemon/daemon.h"

#include <cstdio>
#include <signal.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/ancestry.h"
#include "base/log.h"
#include "base/utf8.h"
#include "daemon/agent_changes.h"
#include "daemon/config_changes.h"
#include "daemon/config_edit.h"
#include "daemon/engine.h"
#include "daemon/in_force.h"
#include "daemon/last_resort.h"
#include "daemon/listeners.h"
#include "daemon/memory_keeper.h"
#include "daemon/node.h"
#include "daemon/own_process.h"
#include "daemon/readiness.h"
#include "exchange/import.h"
#include "policy/policy.h"

namespace reef::daemon {
namespace asio = boost::asio;
namespace {

// Together these stay under the five seconds a stop may take.
constexpr std::chrono::milliseconds kDrainGrace{2'500};
constexpr std::chrono::milliseconds kSettleGrace{500};
// After this nothing is waited for. Sanitizers make everything slow, and report at the end.
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr std::chrono::milliseconds kStopMax{40'000};
#else
constexpr std::chrono::milliseconds kStopMax{4'700};
#endif

// What begins and ends when. The members stand in the order of their dependencies, so they are
// destroyed in the reverse order.
class Daemon {
 public:
  struct Needs {
    asio::io_context& io;
    const Home& home;
    LastResort& last_resort;
    session::Hold& hold;
    mode_t users_umask;
    bool no_policy;
  };
  explicit Daemon(Needs needs)
      : needs_(needs),
        loop_(needs.io.get_executor()),
        engine_(
            {.loop = loop_,
             .home = needs_.home,
             .users_umask = needs_.users_umask,
             .config = [this]() -> const Config& { return in_force_.config(); },
             .name_now = [this](const std::string& agent,
                                TimePoint then) { return agent_changes_.name_now(agent, then); },
             .reload_agents = [this] { return in_force_.reload_agents(); }}),
        in_force_(
            {.engine = engine_,
             .home = needs_.home,
             .change_listeners = [this](const Config& from,
                                        const Config& to) { return listeners_.change(from, to); },
             .agent_id = [this](const std::string& name) { return agent_changes_.id_of(name); },
             .no_policy = needs_.no_policy}),
        config_changes_({.loop = loop_,
                         .files = engine_.files,
                         .pool = engine_.pool,
                         .path = needs_.home.config(),
                         .reload = [this] { return in_force_.reload_config(); }}),
        agent_changes_({.agents = AgentFiles{engine_.documents},
                        .pool = engine_.pool,
                        .runtime = engine_.runtime,
                        .sessions = engine_.sessions,
                        .memories = engine_.memories,
                        .reload = [this] { return in_force_.reload_agents(); },
                        .bus = engine_.bus,
                        .rename_in_config =
                            [this](const std::string& from, const std::string& to) {
                              return rename_in_config(from, to);
                            },
                        .clock = engine_.clock}),
        node_(make_node({.engine = engine_,
                         .in_force = in_force_,
                         .config_changes = config_changes_,
                         .agent_changes = agent_changes_,
                         .home = needs_.home,
                         .shutdown = [this] { stop(); },
                         .fill_stats = [this](protocol::Stats& stats) { fill(stats); }})),
        listeners_({.loop = loop_,
                    .files = engine_.files,
                    .pool = engine_.pool,
                    .random = engine_.random,
                    .home = needs_.home,
                    .user_home = user_home(),
                    .handler =
                        [this](const protocol::Peer& peer, protocol::ClientMessage message) {
                          memory_keeper_.note();
                          return server::dispatch(node_, peer, std::move(message));
                        }}),
        memory_keeper_(
            loop_, engine_.pool, [this] { engine_.sessions.trim_cache(); },
            [this] { return !engine_.tasks.list().empty(); }),
        signals_(needs.io),
        stopped_(loop_),
        tasks_(loop_, "daemon") {}

  // Does everything that can fail before clients may connect.
  Task<Status> start(LoadedConfig read) {
    ::unlink(needs_.home.tcp_address().c_str());  // left by a daemon that was killed
    if (const auto cleared = exchange::clear_staging(engine_.files, needs_.home.root); !cleared)
      log::warn("{}", cleared.error().what);
    engine_.documents.clean();
    in_force_.begin(std::move(read));
    engine_.recall.begin_load();
    REEF_CO_CHECK(co_await engine_.sessions.load());
    co_await agent_changes_.load_names();
    // A broken subscription must not keep the daemon from starting.
    if (const auto loaded = co_await engine_.bus.load(); !loaded)
      log::error("events: {}; nobody is subscribed until it is put right", loaded.error().what);
    static_cast<void>(co_await engine_.definitions.look());
    // Without the logins users must log in again, but everything else works.
    if (const auto loaded = co_await engine_.accounts.load(); !loaded)
      log::error("logins: {}", loaded.error().what);
    engine_.components.start();
    REEF_CO_CHECK(co_await in_force_.set_up());
    REEF_CO_CHECK(listeners_.open(in_force_.config()));

    for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGCHLD}) signals_.add(signal);
    needs_.last_resort.hear_signals(kStopMax);
    tasks_.spawn(take_signals());
    tasks_.spawn(open_index());
    tasks_.spawn(watch_others());
    memory_keeper_.note();
    co_return Ok{};
  }

  // Call once clients can connect; the policy is one of them.
  void start_policy() {
    if (needs_.no_policy) return;
    policy_ = std::make_unique<policy::Policy>(
        loop_, engine_.clock, client::Endpoint{.unix_path = needs_.home.socket()}, [this] {
          const auto& config = in_force_.config();
          return config.policy_enabled ? config.policy : policy::Rules::none();
        });
    policy_->start();
  }

  // Returns when the daemon was told to stop and has ended in order.
  Task<void> run() {
    while (!stopping_) co_await stopped_.wait();
    if (policy_) co_await policy_->stop();
    log::info("stopping: {} conversation(s) running", engine_.runtime.active());
    tell_stopping();
    listeners_.close_doors();
    engine_.importer.cancel();
    co_await memory_keeper_.stop();
    co_await engine_.runtime.drain(kDrainGrace);
    co_await engine_.delegate->stop();
    co_await engine_.bus.stop();
    co_await engine_.compactions.stop();
    co_await engine_.model_lists.stop();
    co_await engine_.components.stop();
    co_await engine_.mcps.stop();
    co_await listeners_.settle(kSettleGrace);
    co_await listeners_.stop();
    co_await engine_.entrance.stop();
    co_await engine_.accounts.stop();
    co_await engine_.importer.stop();
    co_await engine_.changes.stop();
    co_await engine_.sessions.stop();
    co_await engine_.recall.stop();
    if (engine_.made_http) co_await engine_.made_http->stop();
    // What is watched keeps the loop busy.
    hold_watch_.reset();
    boost::system::error_code ignored;
    signals_.cancel(ignored);
    tasks_.cancel();
    co_await tasks_.join();
    log::info("stopped");
  }

  // Closes what is there when start() failed.
  Task<void> abandon() {
    co_await memory_keeper_.stop();
    co_await listeners_.stop();
    co_await engine_.components.stop();
    co_await engine_.mcps.stop();
    co_await engine_.accounts.stop();
    co_await engine_.sessions.stop();
    co_await engine_.recall.stop();
    tasks_.cancel();
    co_await tasks_.join();
  }

 private:
  void stop() {
    if (stopping_) engine_.runtime.hurry();  // a second request: no more patience
    stopping_ = true;
    in_force_.stop();
    config_changes_.stop();
    needs_.last_resort.arm(kStopMax);
    stopped_.notify_all();
  }

  Task<void> take_signals() {
    for (;;) {
      boost::system::error_code failed;
      const int signal =
          co_await signals_.async_wait(asio::redirect_error(asio::use_awaitable, failed));
      if (failed) co_return;
      if (signal == SIGCHLD) {
        reap_adopted();
      } else if (signal == SIGHUP) {
        const auto done = co_await config_changes_.alone(in_force_.reload());
        if (!done) log::error("reload: {}", done.error().what);
      } else {
        log::info("signal {}", signal);
        stop();
      }
    }
  }

  // Nobody need wait for it: what changed until then is found when it begins.
  Task<void> watch_others() {
    co_await yield_to_loop();
    auto lost = needs_.hold.watch(loop_, [this](const std::string& why) {
      log::error("this home is not ours any more: {}; stopping", why);
      stop();
    });
    if (lost) {
      hold_watch_ = *std::move(lost);
    } else {
      log::warn("{}", lost.error().what);
    }
    // Without it, other programs' changes are seen at a reload.
    if (const auto watched = engine_.sessions.watch(); !watched)
      log::warn("{}", watched.error().what);
  }

  // Clients need not wait for the index.
  Task<void> open_index() {
    co_await yield_to_loop();
    // Without an index everything but search works.
    if (const auto opened = co_await engine_.recall.load(); !opened)
      log::error("index: {}; search does not work", opened.error().what);
  }

  Task<Status> rename_in_config(std::string from, std::string to) {
    return config_changes_.change_held(
        [from = std::move(from), to = std::move(to)](std::string_view text, std::string_view file) {
          return with_renamed_agent(text, file, from, to);
        });
  }

  void fill(protocol::Stats& stats) {
    const auto up = std::chrono::duration_cast<std::chrono::seconds>(steady_now(loop_) - started_);
    stats.set_uptime_secs(static_cast<std::uint64_t>(up.count()));
    stats.set_pid(static_cast<std::uint32_t>(::getpid()));
    stats.set_connections(static_cast<std::uint32_t>(listeners_.connections()));
    stats.set_resident_bytes(resident_bytes());
    stats.set_home(utf8::sanitize(needs_.home.root));
    for (const auto& problem : in_force_.problems()) stats.add_problems(utf8::sanitize(problem));
  }

  const Needs needs_;
  const Executor loop_;
  const Moment started_ = steady_now(loop_);
  std::unique_ptr<session::Hold::Watch> hold_watch_;
  Engine engine_;
  InForce in_force_;
  ConfigChanges config_changes_;
  AgentChanges agent_changes_;
  server::Node node_;
  Listeners listeners_;
  MemoryKeeper memory_keeper_;
  asio::signal_set signals_;
  bool stopping_ = false;
  Notify stopped_;
  TaskGroup tasks_;
  std::unique_ptr<policy::Policy> policy_;
};

Task<void> live(Daemon& daemon, LoadedConfig config, int ready_fd, Status& outcome) {
  const auto started = co_await daemon.start(std::move(config));
  if (!started) {
    co_await daemon.abandon();
    outcome = started;
    co_return;
  }
  log::info("ready: reefd {} pid {}", REEF_VERSION, ::getpid());
  tell_ready(ready_fd);
  daemon.start_policy();
  co_await daemon.run();
  outcome = Ok{};
}

Status run_in(const Home& home, const Options& options, mode_t users_umask) {
  PosixFiles files;
  REEF_CHECK(trust_home(home));
  REEF_CHECK(prepare_home(files, home));
  REEF_TRY(const auto hold, own_home(home));
  REEF_TRY(auto loaded, load_config(files, home.config()));
  const auto& config = loaded.config;
  REEF_CHECK(log::open({.file = home.log_file(),
                        .file_bytes_max = config.log_file_bytes_max,
                        .files_max = config.log_files_max,
                        .level = config.log_level}));
  for (const auto& warning : loaded.warnings) log::warn("{}", warning);

  Status outcome = Error(Errc::internal, "ended unexpectedly; the log tells more");
  {
    LastResort last_resort;  // watches until all below is gone
    asio::io_context io(1);
    Daemon daemon({.io = io,
                   .home = home,
                   .last_resort = last_resort,
                   .hold = *hold,
                   .users_umask = users_umask,
                   .no_policy = options.no_policy});
    TaskGroup main(io.get_executor(), "main");
    main.spawn(live(daemon, std::move(loaded), options.ready_fd, outcome));
    io.run();
  }
  log::close();
  return outcome;
}

}  // namespace

int run_daemon(const Options& options) {
  protocol::silence_library_log();
  const auto users_umask = prepare_process();
  Status outcome = Ok{};
  if (auto home = find_home(options.home)) {
    outcome = run_in(*home, options, users_umask);
  } else {
    outcome = std::move(home).error();
  }
  if (outcome) return 0;
  std::fprintf(stderr, "reefd: %s\n", outcome.error().what.c_str());
  return traits(outcome.error().code).exit_code;
}

}  // namespace reef::daemon
