// Durable appends through the session engine, compared with the disk syncs that they require.
#include <memory>
#include <unistd.h>

#include <fmt/format.h>

#include "base/task_group.h"
#include "daemon/home.h"
#include "engine.h"
#include "peers.h"
#include "sessions.h"
#include "table.h"
#include "talk.h"
#include "transcripts.h"

namespace reef::benchmarks {
namespace {

// Many short rounds, so that a busy moment of the machine affects all loads alike.
constexpr int kRounds = 41;
constexpr std::size_t kPools[] = {kPoolThreads, 64};

struct Load {
  int sessions;
  int writers;  // per session
  int appends;  // per writer and round
};
constexpr Load kAlone{1, 1, 64};
constexpr Load kShared{1, 64, 20};
constexpr Load kMany{64, 1, 20};
constexpr Load kLoads[] = {kAlone, kShared, kMany};

constexpr int kPeerThreads[] = {1, 16, 64};

int total(const Load& load) {
  return load.sessions * load.writers * load.appends;
}

struct Figures {
  Samples rounds;  // the time of each
  Samples each;
  Nanos cpu{0};
};

Task<void> write_alone(std::shared_ptr<session::Session> session, int appends, Samples& each,
                       Status& outcome) {
  for (int i = 0; i < appends && outcome; ++i) {
    const auto began = now();
    const auto done = co_await session->append(user_says(std::string(kUserText)));
    each.add(now() - began);
    if (!done) outcome = done.error();
  }
}

using SessionList = std::vector<std::shared_ptr<session::Session>>;

Task<Result<SessionList>> make_sessions(Engine& engine, int count) {
  SessionList out;
  for (int i = 0; i < count; ++i) {
    session::Sessions::New request;
    request.agent = std::string(kAgent);
    request.sender = "appends";
    REEF_CO_TRY(auto session, co_await engine.sessions.create(std::move(request)));
    out.push_back(std::move(session));
  }
  co_return out;
}

// Runs the load on the first of `sessions`.
Task<Status> run_load(Executor loop, const SessionList& sessions, const Load& load, Figures& out) {
  REEF_CO_CHECK(check_interrupted());
  Status outcome = Ok{};
  TaskGroup group(loop, "appends");
  out.cpu -= cpu_time_of(::getpid());
  const auto began = now();
  for (std::size_t i = 0; i < static_cast<std::size_t>(load.sessions); ++i)
    for (int writer = 0; writer < load.writers; ++writer)
      group.spawn(write_alone(sessions[i], load.appends, out.each, outcome));
  co_await group.join();
  out.rounds.add(now() - began);
  out.cpu += cpu_time_of(::getpid());
  co_return outcome;
}

Status run_peer(const std::string& directory, int threads, Figures& out) {
  REEF_CHECK(check_interrupted());
  const auto& load = threads == 1 ? kAlone : kMany;
  out.cpu -= cpu_time_of(::getpid());
  REEF_TRY(const auto took, append_in_parallel(directory, threads, load.appends, &out.each));
  out.cpu += cpu_time_of(::getpid());
  out.rounds.add(took);
  return Ok{};
}

struct Measured {
  Figures peers[std::size(kPeerThreads)];
  Figures engines[std::size(kLoads)][std::size(kPools)];
};

Task<Status> measure(Executor loop, const std::string& scratch, Measured& out) {
  struct Ready {
    std::unique_ptr<Engine> engine;
    SessionList sessions;
  };
  std::vector<Ready> engines;
  PosixFiles files;
  for (const auto pool : kPools) {
    const daemon::Home home{fmt::format("{}/appends-{}", scratch, pool)};
    REEF_CO_CHECK(daemon::prepare_home(files, home));
    auto engine = std::make_unique<Engine>(loop, home.root, pool);
    REEF_CO_CHECK(co_await engine->sessions.load());
    REEF_CO_TRY(auto sessions, co_await make_sessions(*engine, kMany.sessions));
    engines.push_back(Ready{std::move(engine), std::move(sessions)});
  }
  const auto raw = scratch + "/appends-raw";
  REEF_CO_CHECK(make_directories(files, raw));
  Status outcome = Ok{};
  for (int round = 0; round < kRounds && outcome; ++round) {
    for (std::size_t i = 0; i < std::size(kPeerThreads) && outcome; ++i)
      outcome = run_peer(raw, kPeerThreads[i], out.peers[i]);
    for (std::size_t i = 0; i < std::size(kLoads); ++i)
      for (std::size_t pool = 0; pool < std::size(kPools) && outcome; ++pool)
        outcome = co_await run_load(loop, engines[pool].sessions, kLoads[i], out.engines[i][pool]);
  }
  for (const auto& ready : engines) co_await ready.engine->sessions.stop();
  co_return outcome;
}

double rate_of(const Figures& figures) {
  const auto count = static_cast<double>(figures.each.size());
  return count / static_cast<double>(figures.rounds.size()) / in_seconds(figures.rounds.median());
}

void add_row(Table& table, std::string what, const Figures& figures, const Figures& peer) {
  table.add({std::move(what), number(rate_of(figures)), number(rate_of(figures) / rate_of(peer)),
             number(in_us(figures.each.percentile(50))), number(in_us(figures.each.percentile(99))),
             number(in_us(figures.cpu) / static_cast<double>(figures.each.size()))});
}

}  // namespace

Status print_appends(const std::string& scratch) {
  Measured measured;
  REEF_CHECK(run_on_loop([&](Executor loop) { return measure(loop, scratch, measured); }));
  const auto& one_thread = measured.peers[0];
  const auto& many_threads = measured.peers[std::size(kPeerThreads) - 1];
  Table table(fmt::format("Durable appends, median of {} rounds of {} (one writer) or {}", kRounds,
                          total(kAlone), total(kMany)),
              {"", "appends/s", "ratio", "p50 us", "p99 us", "CPU us each"});
  const auto add_engines = [&](std::string_view what, std::size_t load, const Figures& peer) {
    for (std::size_t pool = 0; pool < std::size(kPools); ++pool)
      add_row(table, fmt::format("{}, pool of {}", what, kPools[pool]),
              measured.engines[load][pool], peer);
  };
  add_row(table, "write and fdatasync, 1 thread (peer)", one_thread, one_thread);
  add_engines("1 session, 1 writer", 0, one_thread);
  add_engines("1 session, 64 writers share syncs", 1, one_thread);
  add_row(table, "write and fdatasync, 64 threads, a file each (peer)", many_threads, many_threads);
  add_row(table, "write and fdatasync, 16 threads, a file each", measured.peers[1], many_threads);
  add_engines("64 sessions, 1 writer each", 2, many_threads);
  table.note("ratio: to the peer above; the goal for 64 sessions is 0.8");
  table.print();
  return Ok{};
}

}  // namespace reef::benchmarks
