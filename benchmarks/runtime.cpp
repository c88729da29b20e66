// The cost of the loop around a model: steps with and without a tool in memory, and turns with the
// durable store, compared with the syncs that they require. No daemon, no socket.
#include "runtime/runtime.h"

#include <unistd.h>

#include <fmt/format.h>

#include "base/notify.h"
#include "daemon/home.h"
#include "engine.h"
#include "groups.h"
#include "model/scripted/scripted.h"
#include "peers.h"
#include "table.h"
#include "talk.h"

namespace reef::benchmarks {
namespace {

constexpr int kRounds = 41;
constexpr int kTurnsPerRound = 100;
constexpr int kTurnsPerSession = 10;  // the first one makes the session and is not counted
constexpr int kToolSteps = 8;         // in a turn with tools
constexpr int kDurableTurns = 400;
// CrabTalk's own figures for its loop in memory, from its benchmarks.
constexpr double kTheirStepUs = 1.3;
constexpr double kTheirToolStepUs = 17;

// A tool that answers at once.
class Nothing final : public runtime::Hook {
 public:
  std::vector<model::Tool> tools(const runtime::Agent&) const override {
    return {{"nothing", "Does nothing.", {{"type", "object"}}}};
  }
  std::string prompt(const runtime::Agent&) const override { return {}; }
  runtime::Intent intent(const std::string&, const json::object&,
                         const runtime::Caller&) const override {
    return {runtime::Intent::Effect::reads};
  }
  Task<runtime::ToolAnswer> call(std::string, json::object, runtime::Caller) override {
    co_return runtime::ToolAnswer{"done"};
  }
};

// Makes a script: `tool_steps` steps with one call of the tool each, then a text.
std::string script_of(int tool_steps) {
  std::string replies;
  for (int i = 0; i < tool_steps; ++i) replies += R"({"calls":[{"name":"nothing"}]},)";
  return fmt::format(R"({{"replies":[{}{{"text":"{}","chunks":1}}]}})", replies, kReplyText);
}

std::shared_ptr<const runtime::Setup> setup_of(int tool_steps) {
  auto setup = std::make_shared<runtime::Setup>();
  setup->providers.add(
      "s", std::make_shared<model::ScriptedProvider>(*model::parse_script(script_of(tool_steps))));
  auto& agent = setup->agents["reef"];
  agent.name = "reef";
  agent.model = "s/x";
  return setup;
}

struct Times {
  Nanos first_chunk{0};
  Nanos whole{0};
};

Task<Result<Times>> take(runtime::Runtime& runtime, std::string sender) {
  const auto began = now();
  REEF_CO_TRY(const auto run,
              runtime.submit({"reef", std::move(sender), std::string(kUserText), "/"}));
  Times times;
  runtime::EventLog::Place place;
  for (;;) {
    REEF_CO_TRY(const auto event, co_await run->events().next(place));
    if (!event) break;
    if (std::holds_alternative<runtime::Chunk>(*event)) times.first_chunk = now() - began;
    if (const auto* end = std::get_if<runtime::End>(&*event); end && !end->error.empty())
      co_return Error(end->code, end->error);
  }
  times.whole = now() - began;
  co_return times;
}

// Takes turns and measures all but the first of each session, which makes the session.
Task<Status> take_many(runtime::Runtime& runtime, std::string name, int turns, Samples& whole,
                       Samples* first_chunk = nullptr) {
  for (int i = 0; i < turns; ++i) {
    const auto sender = fmt::format("{}-{}", name, i / kTurnsPerSession);
    REEF_CO_TRY(const auto times, co_await take(runtime, sender));
    if (i % kTurnsPerSession == 0) continue;
    whole.add(times.whole);
    if (first_chunk) first_chunk->add(times.first_chunk);
  }
  co_return Ok{};
}

struct Figures {
  Samples plain, tools;                  // a turn in memory
  Samples sync, durable, durable_chunk;  // with the disk
};

Task<Status> measure_memory(Executor loop, Figures& out) {
  SystemClock clock;
  SystemRandom random;
  store::MemTranscripts store;
  store::MemJournal catalog;
  session::Sessions sessions(loop, store, catalog, clock, random);
  runtime::Runtime runtime(loop, sessions, clock);
  runtime.hooks().add(std::make_shared<Nothing>());
  const auto plain = setup_of(0);
  const auto tools = setup_of(kToolSteps);
  // Everything before this line runs on the caller; the rest runs on the loop itself.
  co_await yield_to_loop();
  for (int round = 0; round < kRounds; ++round) {
    runtime.configure(plain);
    REEF_CO_CHECK(
        co_await take_many(runtime, fmt::format("p{}", round), kTurnsPerRound, out.plain));
    runtime.configure(tools);
    REEF_CO_CHECK(
        co_await take_many(runtime, fmt::format("t{}", round), kTurnsPerRound / 4, out.tools));
  }
  co_await runtime.drain(std::chrono::seconds(1));
  co_await sessions.stop();
  co_return Ok{};
}

Task<Status> measure_disk(Executor loop, const std::string& folder, Figures& out) {
  Engine engine(loop, folder, kPoolThreads);
  runtime::Runtime runtime(loop, engine.sessions, engine.clock);
  runtime.configure(setup_of(0));
  REEF_CO_TRY(auto file, SyncedFile::create(folder));
  for (int round = 0; round < kDurableTurns / kTurnsPerSession; ++round) {
    for (int i = 0; i < kTurnsPerSession; ++i) {
      const auto began = now();
      REEF_CO_CHECK(file.append());
      out.sync.add(now() - began);
    }
    REEF_CO_CHECK(co_await take_many(runtime, fmt::format("d{}", round), kTurnsPerSession,
                                     out.durable, &out.durable_chunk));
  }
  co_await runtime.drain(std::chrono::seconds(1));
  co_await engine.sessions.stop();
  co_return Ok{};
}

void print_memory(const Figures& figures) {
  const auto plain = in_us(figures.plain.median());
  const auto step = (in_us(figures.tools.median()) - plain) / kToolSteps;
  Table table("The loop around a model, store in memory, scripted provider, median turn",
              {"", "samples", "us", "CrabTalk's us", "ratio"});
  table.add({"a turn of one step, without a tool", fmt::format("{}", figures.plain.size()),
             number(plain), number(kTheirStepUs), number(plain / kTheirStepUs)});
  table.add({"one more step with a tool call", fmt::format("{}", figures.tools.size()),
             number(step), number(kTheirToolStepUs), number(step / kTheirToolStepUs)});
  table.note(
      "ours writes the transcript's lines, keeps the lists and makes every event readable; "
      "theirs, as they publish it, is the loop alone on another machine");
  table.print();
}

void print_disk(const Figures& figures) {
  const auto sync = in_us(figures.sync.median());
  const auto row = [&](std::string what, const Samples& samples, double syncs) {
    const auto p50 = in_us(samples.percentile(50));
    const auto p99 = in_us(samples.percentile(99));
    return std::vector<std::string>{std::move(what), number(p50), number(p50 - syncs * sync),
                                    number(p50 / (syncs * sync)), number(p99)};
  };
  Table table("Turns with the durable store, one at a time, without daemon and socket",
              {"", "p50 us", "above the syncs us", "ratio to them", "p99 us"});
  table.add(
      row(fmt::format("write and fdatasync of {} bytes (peer)", kEntryBytes), figures.sync, 1));
  table.add(row("submit to the first piece of the answer (1 sync)", figures.durable_chunk, 1));
  table.add(row("a whole turn (2 syncs)", figures.durable, 2));
  table.note(fmt::format("{} turns/s; raw syncs allow {}",
                         number(1e6 / in_us(figures.durable.median())), number(1e6 / (2 * sync))));
  table.print();
}

}  // namespace

Status runtime_loop() {
  Figures figures;
  REEF_CHECK(run_on_loop([&](Executor loop) { return measure_memory(loop, figures); }));
  print_memory(figures);
  REEF_TRY(const auto scratch, Scratch::make());
  PosixFiles files;
  const daemon::Home home{scratch.path()};
  REEF_CHECK(daemon::prepare_home(files, home));
  REEF_CHECK(
      run_on_loop([&](Executor loop) { return measure_disk(loop, scratch.path(), figures); }));
  print_disk(figures);
  return Ok{};
}

}  // namespace reef::benchmarks
