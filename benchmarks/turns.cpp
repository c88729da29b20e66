// Turns with a model that costs nothing, compared with the disk syncs that they require.
#include <unistd.h>

#include <fmt/format.h>

#include "core.h"
#include "peers.h"
#include "table.h"
#include "talk.h"

namespace reef::benchmarks {
namespace {

// --- time to the first chunk ---

constexpr int kChunkRounds = 20;
constexpr int kChunksPerRound = 50;
constexpr int kShortTurns = 10;
constexpr int kLongTurns = 500;

struct FirstChunks {
  Samples sync, in_short, in_long;
};

Task<Status> measure_first_chunks(Executor loop, const daemon::Home& home, FirstChunks& out) {
  REEF_CO_TRY(auto file, SyncedFile::create(home.root));
  client::Client client(loop, endpoint_of(home));
  const std::string long_sender = "chunk-long";
  for (int i = 0; i < kLongTurns; ++i) {
    REEF_CO_TRY(const auto times, co_await take_turn(client, long_sender));
    static_cast<void>(times);
  }
  int made = 0;
  for (int round = 0; round < kChunkRounds; ++round) {
    for (int i = 0; i < kChunksPerRound; ++i) {
      const auto began = now();
      REEF_CO_CHECK(file.append());
      out.sync.add(now() - began);
    }
    for (int i = 0; i < kChunksPerRound; ++i) {
      const auto turn = i % (kShortTurns + 1);
      if (turn == 0) ++made;
      REEF_CO_TRY(const auto times, co_await take_turn(client, fmt::format("chunk-{}", made)));
      // The first turn makes the conversation.
      if (turn > 0) out.in_short.add(times.first_chunk);
    }
    // Only a few, so that the long conversation does not change much while it is measured.
    for (int i = 0; i < kChunksPerRound / 10; ++i) {
      REEF_CO_TRY(const auto times, co_await take_turn(client, long_sender));
      out.in_long.add(times.first_chunk);
    }
  }
  co_return Ok{};
}

void add_row(Table& table, std::string what, const Samples& samples, const Samples& peer) {
  const auto p50 = in_us(samples.percentile(50));
  const auto p99 = in_us(samples.percentile(99));
  table.add({std::move(what), fmt::format("{}", samples.size()), number(p50),
             number(p50 / in_us(peer.percentile(50))), number(p99),
             number(p99 / in_us(peer.percentile(99)))});
}

// --- turns per second ---

constexpr int kTurnsPerConversation = 50;

struct Load {
  int conversations;
  int rounds;  // each has new conversations
};
constexpr Load kLoads[] = {{1, 21}, {16, 7}, {64, 5}};

struct Rates {
  double turns_per_second = 0;
  double syncs_per_second = 0;
  double daemon_us_per_turn = 0;  // CPU time
  double client_us_per_turn = 0;
};

Task<Status> measure_turns(Executor loop, const daemon::Home& home, int daemon_pid, Load load,
                           Rates& out) {
  Samples talking, syncing;  // one of each per round
  Nanos daemon_cpu{0};
  Nanos client_cpu{0};
  Clients clients(loop, home, static_cast<std::size_t>(load.conversations));
  REEF_CO_CHECK(co_await clients.connect());
  for (int round = 0; round < load.rounds; ++round) {
    REEF_CO_TRY(const auto synced,
                append_in_parallel(home.root, load.conversations, 2 * kTurnsPerConversation));
    syncing.add(synced);
    const auto name = fmt::format("turns-{}-{}", load.conversations, round);
    REEF_CO_TRY(const auto made, co_await clients.talk(name, 1, 1));
    static_cast<void>(made);
    daemon_cpu -= cpu_time_of(daemon_pid);
    client_cpu -= cpu_time_of(::getpid());
    REEF_CO_TRY(const auto talked, co_await clients.talk(name, 1, kTurnsPerConversation));
    daemon_cpu += cpu_time_of(daemon_pid);
    client_cpu += cpu_time_of(::getpid());
    talking.add(talked);
  }
  clients.close();
  const double turns = load.conversations * kTurnsPerConversation;
  out.turns_per_second = turns / in_seconds(talking.median());
  out.syncs_per_second = 2 * turns / in_seconds(syncing.median());
  out.daemon_us_per_turn = in_us(daemon_cpu) / (turns * load.rounds);
  out.client_us_per_turn = in_us(client_cpu) / (turns * load.rounds);
  co_return Ok{};
}

}  // namespace

Status print_first_chunk(const daemon::Home& home) {
  FirstChunks chunks;
  REEF_CHECK(run_on_loop([&](Executor loop) { return measure_first_chunks(loop, home, chunks); }));
  Table table("From sending a message to the first chunk of the answer, the message being durable",
              {"", "samples", "p50 us", "ratio", "p99 us", "ratio"});
  add_row(table, fmt::format("write and fdatasync of {} bytes (peer)", kEntryBytes), chunks.sync,
          chunks.sync);
  add_row(table, fmt::format("Stream, up to {} turns before it", kShortTurns), chunks.in_short,
          chunks.sync);
  add_row(table, fmt::format("Stream, over {} turns before it", kLongTurns), chunks.in_long,
          chunks.sync);
  table.print();
  return Ok{};
}

Status print_turns(const daemon::Home& home, int daemon_pid) {
  Table table(
      fmt::format(
          "Turns per second, scripted provider, {} turns in each conversation, median round",
          kTurnsPerConversation),
      {"conversations at a time", "turns/s", "raw syncs/s", "ratio", "daemon CPU us/turn",
       "client CPU us/turn"});
  for (const auto& load : kLoads) {
    Rates rates;
    REEF_CHECK(run_on_loop(
        [&](Executor loop) { return measure_turns(loop, home, daemon_pid, load, rates); }));
    table.add({fmt::format("{}", load.conversations), number(rates.turns_per_second),
               number(rates.syncs_per_second),
               number(2 * rates.turns_per_second / rates.syncs_per_second),
               number(rates.daemon_us_per_turn), number(rates.client_us_per_turn)});
  }
  table.note("ratio: 2 durable appends a turn / raw write and fdatasync by as many threads");
  table.print();
  return Ok{};
}

}  // namespace reef::benchmarks
