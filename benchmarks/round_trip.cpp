// The simplest request to the daemon, compared with the shortest way to another process and back.
#include <fmt/format.h>

#include "core.h"
#include "peers.h"
#include "table.h"
#include "talk.h"

namespace reef::benchmarks {
namespace {

constexpr int kRounds = 10;
constexpr int kPerRound = 2'000;

// What matters most in a round trip is which core wakes which, and the kernel places a blocking
// peer differently from one that waits in epoll. So both placements are also forced.
struct Placement {
  std::string name;
  std::vector<int> ours, theirs;
};

std::vector<Placement> placements(const std::vector<int>& cores) {
  std::vector<Placement> all;
  all.push_back({"one core for both", {cores.front()}, {cores.front()}});
  if (cores.size() > 1) all.push_back({"a core for each", {cores[0]}, {cores[1]}});
  all.push_back({"where the kernel puts them", cores, cores});
  return all;
}

struct RoundTrips {
  Samples echo, plain, client;
};

template <class Peer>
Status exchange_many(Peer& peer, std::string_view frame, int count, Samples& into) {
  for (int i = 0; i < count; ++i) {
    const auto began = now();
    REEF_CHECK(peer.exchange(frame));
    into.add(now() - began);
  }
  return Ok{};
}

Task<Status> ping_many(client::Client& client, int count, Samples& into) {
  for (int i = 0; i < count; ++i) {
    const auto began = now();
    REEF_CO_CHECK(co_await client.ping());
    into.add(now() - began);
  }
  co_return Ok{};
}

Task<Status> measure(Executor loop, const daemon::Home& home, Echo& echo, RoundTrips& out) {
  const auto frame = ping_frame();
  REEF_CO_TRY(auto plain, PlainConnection::connect(home));
  client::Client client(loop, endpoint_of(home));
  for (int round = 0; round <= kRounds; ++round) {
    REEF_CO_CHECK(check_interrupted());
    if (round == 1) out = {};  // the first round was the warm-up
    REEF_CO_CHECK(exchange_many(echo, frame, kPerRound, out.echo));
    REEF_CO_CHECK(exchange_many(plain, frame, kPerRound, out.plain));
    REEF_CO_CHECK(co_await ping_many(client, kPerRound, out.client));
  }
  co_return Ok{};
}

Status measure_at(const Placement& place, const daemon::Home& home, int daemon_pid,
                  RoundTrips& out) {
  REEF_TRY(auto echo, Echo::start());
  REEF_CHECK(keep_on(echo.pid(), place.theirs));
  REEF_CHECK(keep_on(daemon_pid, place.theirs));
  REEF_CHECK(keep_on(0, place.ours));
  return run_on_loop([&](Executor loop) { return measure(loop, home, echo, out); });
}

void add_row(Table& table, std::string what, const Samples& samples, const Samples& peer) {
  const auto p50 = in_us(samples.percentile(50));
  const auto p99 = in_us(samples.percentile(99));
  table.add({std::move(what), number(p50), number(p50 / in_us(peer.percentile(50))), number(p99),
             number(p99 / in_us(peer.percentile(99)))});
}

}  // namespace

Status print_round_trips(const daemon::Home& home, int daemon_pid) {
  const auto cores = usable_cores();
  if (cores.empty()) return Error(Errc::internal, "no core may be used");
  Table table(fmt::format("Round trip of {} bytes over a Unix socket, {} each", ping_frame().size(),
                          kRounds * kPerRound),
              {"", "p50 us", "ratio", "p99 us", "ratio"});
  // The last placement removes all restrictions.
  for (const auto& place : placements(cores)) {
    RoundTrips trips;
    REEF_CHECK(measure_at(place, home, daemon_pid, trips));
    table.add({place.name, "", "", "", ""});
    add_row(table, "  bare echo process (peer)", trips.echo, trips.echo);
    add_row(table, "  Ping, blocking socket", trips.plain, trips.echo);
    add_row(table, "  Ping, client library", trips.client, trips.echo);
  }
  table.print();
  return Ok{};
}

}  // namespace reef::benchmarks
