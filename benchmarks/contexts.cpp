// Opening a session and building the model's context from it, compared with pi doing the same.
#include <cstdio>

#include <fmt/format.h>

#include "base/json.h"
#include "daemon/home.h"
#include "engine.h"
#include "process.h"
#include "sessions.h"
#include "table.h"
#include "talk.h"
#include "transcripts.h"

namespace reef::benchmarks {
namespace {

constexpr std::size_t kSizes[] = {100, 10'000, 100'000};
// The compaction is this far from the end, and keeps as many entries before it.
constexpr std::size_t kAfterCompaction = 20;

session::Draft summary_from(const session::EntryId& first_kept) {
  return session::Draft{"compaction", json::object{{"summary", kReplyText},
                                                   {"firstKeptEntryId", first_kept.text},
                                                   {"tokensBefore", 100'000}}};
}

std::string long_transcript(const session::SessionId& id, std::size_t entries, bool compacted) {
  SeededRandom random(entries);
  TranscriptText text(id, SystemClock().now(), random);
  session::EntryId first_kept;
  for (std::size_t i = 0; i < entries; ++i) {
    if (compacted && i == entries - kAfterCompaction - 1) {
      text.add(summary_from(first_kept));
      continue;
    }
    auto added = text.add(i % 2 == 0 ? user_says(std::string(kUserText))
                                     : assistant_says(std::string(kReplyText)));
    if (i == entries - 2 * kAfterCompaction) first_kept = std::move(added);
  }
  return text.bytes();
}

Task<Status> open_often(Executor loop, const std::string& home, const std::string& name) {
  REEF_CO_TRY(const auto id, session::SessionId::parse(name));
  Engine engine(loop, home, kPoolThreads);
  Samples samples;
  Report report;
  const auto start = now();
  do {
    const auto began = now();
    REEF_CO_TRY(const auto tail, co_await engine.store.open(id));
    const auto messages = session::for_model(tail.context);
    samples.add(now() - began);
    report.count = messages.size();
    report.read_kib = static_cast<double>(tail.bytes_read) / 1024;
    if (samples.size() == 1) {
      REEF_CO_TRY(const auto memory, resident(::getpid()));
      report.peak_mib = memory.peak_mib;
    }
  } while (samples.size() < kRepeatsMax && in_seconds(now() - start) < kRepeatSecondsMax);
  fmt::print("{}\n", json::write(json::object{{"ms", in_ms(samples.median())},
                                              {"count", report.count},
                                              {"read_kib", report.read_kib},
                                              {"peak_mib", report.peak_mib}}));
  co_return Ok{};
}

// Starts this program again; see main.cpp.
Result<Report> open_elsewhere(const daemon::Home& home, const session::SessionId& id) {
  PosixFiles files;
  REEF_TRY(const auto program, find_program("reef-bench"));
  const auto output = home.root + "/opened.out";
  REEF_TRY(auto child, Child::start({program, "--open-context", home.root, id.text()}, output));
  const auto status = child.wait();
  REEF_CHECK(check_interrupted());
  REEF_TRY(const auto said, read_all(files, output));
  static_cast<void>(files.remove(output).ok());
  if (status != 0) return Error(Errc::internal, "opening a session failed: " + said);
  return parse_report(said);
}

Result<Nanos> time_to_read(const std::string& file) {
  PosixFiles files;
  Samples samples;
  for (int i = 0; i < 11; ++i) {
    const auto began = now();
    REEF_TRY(const auto bytes, read_all(files, file));
    samples.add(now() - began);
    if (bytes.empty()) return Error(Errc::corrupt, file + " is empty");
  }
  return samples.median();
}

Status add_row(Table& table, const daemon::Home& home, std::size_t entries, bool compacted,
               const Result<Pi>& pi) {
  REEF_CHECK(check_interrupted());
  const auto what = fmt::format("{}, {}", entries, compacted ? "compaction near the end" : "none");
  REEF_TRY(const auto id,
           session::SessionId::parse(fmt::format("{}-{}", entries, compacted ? "short" : "whole")));
  const auto bytes = long_transcript(id, entries, compacted);
  REEF_CHECK(write_transcript(home.sessions(), id, bytes));
  const auto file = home.sessions() + "/" + id.text() + "/session.jsonl";
  REEF_TRY(const auto reading, time_to_read(file));
  REEF_TRY(const auto ours, open_elsewhere(home, id));
  std::string pi_ms, pi_ratio, pi_mib;
  if (pi) {
    REEF_TRY(const auto theirs, pi->open(file, home.root));
    if (theirs.count != ours.count)
      return Error(Errc::internal, fmt::format("pi gives the model {} messages of {}, Reef {}",
                                               theirs.count, file, ours.count));
    pi_ms = number(theirs.ms);
    pi_ratio = number(theirs.ms / ours.ms);
    pi_mib = number(theirs.peak_mib);
  }
  table.add({what, fmt::format("{}", ours.count), number(double(bytes.size()) / (1 << 20)),
             number(in_ms(reading)), number(ours.ms), number(ours.read_kib), number(ours.peak_mib),
             pi_ms, pi_mib, pi_ratio});
  return Ok{};
}

}  // namespace

int open_context_here(const std::string& home, const std::string& id) {
  const auto done = run_on_loop([&](Executor loop) { return open_often(loop, home, id); });
  if (done) return 0;
  fmt::print("{}\n", done.error().what);
  return traits(done.error().code).exit_code;
}

Status print_contexts(const std::string& scratch, const Result<Pi>& pi) {
  PosixFiles files;
  const daemon::Home home{scratch + "/contexts"};
  REEF_CHECK(daemon::prepare_home(files, home));
  Table table("Opening a session and building its context, files in the page cache, median",
              {"entries, compaction", "messages", "file MiB", "reading it ms (limit)", "reef ms",
               "read KiB", "peak MiB", "pi ms", "peak MiB", "pi/reef"});
  for (const bool compacted : {true, false})
    for (const auto entries : kSizes) REEF_CHECK(add_row(table, home, entries, compacted, pi));
  table.note("peak: VmHWM of a process that has opened this session once");
  if (pi) {
    table.note(
        "pi: SessionManager.open and buildSessionContext in node; only that module is loaded");
  } else {
    table.note("pi was left out: " + pi.error().what);
  }
  table.print();
  return Ok{};
}

}  // namespace reef::benchmarks
