// The cost of an idle daemon: time until clients can connect, and memory.
#include <thread>

#include <fmt/format.h>

#include "core.h"
#include "peers.h"
#include "process.h"
#include "table.h"
#include "talk.h"

namespace reef::benchmarks {
namespace {

constexpr int kStarts = 20;
constexpr int kSessions = 1'000;
constexpr int kSeedingClients = 50;
constexpr int kConnections = 1'000;

struct Memory {
  Resident nothing, idle, made, loaded, connected;
};

Task<Status> make_sessions(Executor loop, const daemon::Home& home) {
  Clients clients(loop, home, kSeedingClients);
  REEF_CO_TRY(const auto took, co_await clients.talk("seed", kSessions / kSeedingClients, 1));
  static_cast<void>(took);
  clients.close();
  co_return Ok{};
}

Result<Nanos> run_to_end(const std::string& program) {
  const auto began = now();
  REEF_TRY(auto child, Child::start({program}, "/dev/null"));
  const auto status = child.wait();
  const auto took = now() - began;
  if (status != 0) return Error(Errc::internal, program + " failed");
  return took;
}

Result<Nanos> read_transcripts(const daemon::Home& home) {
  PosixFiles files;
  const auto began = now();
  REEF_TRY(const auto names, files.list(home.sessions()));
  for (const auto& name : names) {
    REEF_TRY(const auto bytes, read_all(files, home.sessions() + "/" + name + "/session.jsonl"));
    if (bytes.empty()) return Error(Errc::corrupt, "session " + name + " is empty");
  }
  if (names.size() != kSessions)
    return Error(Errc::internal, fmt::format("{} sessions instead of {}", names.size(), kSessions));
  return now() - began;
}

Result<Resident> resident_with_connections(const daemon::Home& home, int pid) {
  std::vector<PlainConnection> connections;
  const auto frame = ping_frame();
  for (int i = 0; i < kConnections; ++i) {
    REEF_TRY(auto connection, PlainConnection::connect(home));
    // After an answer the connection is served and its buffers are allocated.
    REEF_CHECK(connection.exchange(frame));
    connections.push_back(std::move(connection));
  }
  return resident(pid);
}

Status print_start_up(const std::string& scratch, const daemon::Home& full) {
  Samples nothing, empty, reading, loading;
  for (int i = 0; i < kStarts; ++i) {
    REEF_CHECK(check_interrupted());
    REEF_TRY(const auto ended, run_to_end("/bin/true"));
    nothing.add(ended);
    const daemon::Home fresh{fmt::format("{}/empty-{}", scratch, i)};
    REEF_TRY(const auto on_empty, start_daemon(fresh));
    empty.add(on_empty.start_up);
    REEF_TRY(const auto read, read_transcripts(full));
    reading.add(read);
    REEF_TRY(const auto on_full, start_daemon(full));
    loading.add(on_full.start_up);
  }
  Table table(
      fmt::format("Start-up from fork to ready, median of {}, files in the page cache", kStarts),
      {"", "ms", "ratio"});
  const auto add = [&](std::string what, const Samples& samples) {
    const auto ms = in_ms(samples.median());
    table.add({std::move(what), number(ms), number(ms / in_ms(nothing.median()))});
  };
  add("/bin/true, to its end (peer)", nothing);
  add("reefd, empty home", empty);
  add(fmt::format("reading {} transcripts, nothing else (limit)", kSessions), reading);
  add(fmt::format("reefd, {} sessions", kSessions), loading);
  table.print();
  return Ok{};
}

void print_memory(const Memory& memory) {
  Table table("Resident memory", {"", "VmRSS MiB", "RssAnon MiB", "ratio", "KiB each"});
  const auto add = [&](std::string what, const Resident& of, int count) {
    std::string each;
    if (count > 0) each = number((of.anonymous_mib - memory.idle.anonymous_mib) * 1024 / count);
    table.add({std::move(what), number(of.all_mib), number(of.anonymous_mib),
               number(of.all_mib / memory.nothing.all_mib), std::move(each)});
  };
  add("/bin/sleep (peer)", memory.nothing, 0);
  add("reefd, idle on an empty home", memory.idle, 0);
  add(fmt::format("reefd, started with {} sessions", kSessions), memory.loaded, kSessions);
  add(fmt::format("reefd, after making {} sessions", kSessions), memory.made, kSessions);
  add(fmt::format("reefd, empty home, {} idle connections", kConnections), memory.connected,
      kConnections);
  table.note("each: RssAnon above the idle daemon, per session or connection");
  table.print();
}

Result<Resident> resident_sleeping() {
  REEF_TRY(const auto child, Child::start({"/bin/sleep", "600"}, "/dev/null"));
  // Waits until the program has mapped what it needs.
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  return resident(child.pid());
}

}  // namespace

Status print_start_up_and_memory(const std::string& scratch) {
  Memory memory;
  const daemon::Home full{scratch + "/full"};
  REEF_CHECK(make_home(full));
  {
    REEF_TRY(const auto daemon, start_daemon(full));
    REEF_CHECK(run_on_loop([&](Executor loop) { return make_sessions(loop, full); }));
    REEF_TRY(memory.made, resident(daemon.process.pid()));
  }
  REEF_CHECK(print_start_up(scratch, full));
  {
    REEF_TRY(const auto daemon, start_daemon(full));
    REEF_TRY(memory.loaded, resident(daemon.process.pid()));
  }
  {
    const daemon::Home empty{scratch + "/idle"};
    REEF_TRY(const auto daemon, start_daemon(empty));
    REEF_TRY(memory.idle, resident(daemon.process.pid()));
    REEF_TRY(memory.connected, resident_with_connections(empty, daemon.process.pid()));
  }
  REEF_TRY(memory.nothing, resident_sleeping());
  print_memory(memory);
  return Ok{};
}

}  // namespace reef::benchmarks
