#include "searches.h"

#include <cstdio>
#include <unistd.h>

#include <fmt/format.h>
#include <time.h>

#include "corpus.h"
#include "groups.h"
#include "process.h"
#include "rivals.h"
#include "search/search.h"
#include "table.h"

namespace reef::benchmarks {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;
constexpr std::size_t kHits = 20;
constexpr std::size_t kSmall = 100'000;
constexpr std::size_t kLarge = 1'000'000;
constexpr std::size_t kMemoryBytes = 64 * 1024 * 1024;  // before a segment is written
constexpr std::size_t kLast = 2'000;  // messages added one by one at the end and timed

search::IndexOptions options() {
  return {.weights = {3.0F, 2.0F, 1.5F, 1.3F, 1.0F}};
}

Nanos thread_cpu() {
  timespec used = {};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return std::chrono::seconds(used.tv_sec) + Nanos(used.tv_nsec);
}

struct Built {
  Nanos all{0};    // everything, including flushes and due merges
  Nanos merge{0};  // the merges afterwards, when nothing else is to be done
  Nanos add{0};    // CPU time of one add, at the end
  double text_mib = 0;
  double index_mib = 0;
  std::size_t files = 0;
  std::size_t merges = 0;
};

Status run_job(search::Index& index, search::Job job) {
  for (;;) {
    REEF_CHECK(check_interrupted());
    REEF_TRY(const bool done, job.step());
    if (done) return index.finish(std::move(job));
  }
}

Status merge_all(search::Index& index, bool thorough, std::size_t& merges) {
  for (;;) {
    auto merge = index.begin_merge(thorough);
    if (!merge) return Ok{};
    ++merges;
    REEF_CHECK(run_job(index, *std::move(merge)));
  }
}

Result<Built> build(const Corpus& corpus, const std::string& directory) {
  PosixFiles files;
  REEF_TRY(auto opened, search::Index::open(files, directory, options()));
  auto& index = *opened.index;
  Built out;
  std::size_t done = 0;
  double bytes = 0;
  Nanos last{0};
  Nanos making{0};
  Status failed = Ok{};
  const auto began = now();
  auto mark = now();
  corpus.each([&](const CorpusMessage& message) {
    const auto given = now();
    making += given - mark;  // the time that the generator takes
    if (failed) {
      const bool timed = done + kLast >= corpus.size();
      const auto before = timed ? thread_cpu() : Nanos(0);
      const auto group = index.group(fmt::format("session-{}", message.session));
      const search::FieldText field{message.role, message.text};
      index.add({.group = group,
                 .key = message.index,
                 .time_ms = message.time_ms,
                 .facets = message.role},
                {&field, 1});
      index.set_covered(group, message.index);
      if (timed) last += thread_cpu() - before;
      bytes += static_cast<double>(message.text.size());
      ++done;
      if (!timed && index.memory_bytes() > kMemoryBytes) {
        failed = run_job(index, *index.begin_flush());
        if (failed) failed = merge_all(index, false, out.merges);
      }
    }
    mark = now();
  });
  REEF_CHECK(std::move(failed));
  REEF_CHECK(index.flush());
  out.all = now() - began - making;
  const auto merging = now();
  REEF_CHECK(merge_all(index, true, out.merges));
  out.merge = now() - merging;
  out.add = last / kLast;
  out.text_mib = bytes / kMiB;
  out.index_mib = static_cast<double>(index.file_bytes()) / kMiB;
  out.files = index.file_count();
  return out;
}

struct Asked {
  double open_ms = 0;
  double first_ms = 0;
  double p50_us = 0;
  double p99_us = 0;
  double worst_us = 0;
  double resident_mib = 0;
};

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const auto& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

Result<Asked> ask(const std::string& directory) {
  PosixFiles files;
  REEF_TRY(const auto lines, read_all(files, directory + ".queries"));
  Asked out;
  const auto began = now();
  REEF_TRY(auto opened, search::Index::open(files, directory, options()));
  out.open_ms = in_ms(now() - began);
  std::vector<std::string_view> queries;
  for (std::size_t at = 0; at < lines.size();) {
    const auto end = lines.find('\n', at);
    queries.push_back(std::string_view(lines).substr(at, end - at));
    at = end + 1;
  }
  // After the first round nothing has to be read from disk or checked any more.
  Rounds rounds(queries.size());
  for (std::size_t round = 0; round <= kQueryRounds; ++round)
    for (std::size_t q = 0; q < queries.size(); ++q) {
      const auto start = now();
      const auto query = search::parse_query(queries[q]);
      const auto hits = opened.index->prepare(query).best({}, kHits);
      if (round > 0) rounds.add(q, now() - start);
      if (out.first_ms == 0) out.first_ms = in_ms(now() - began);
    }
  const auto samples = rounds.medians();
  out.p50_us = in_us(samples.median());
  out.p99_us = in_us(samples.percentile(99));
  out.worst_us = in_us(samples.percentile(100));
  REEF_TRY(const auto used, resident(::getpid()));
  out.resident_mib = used.all_mib;
  return out;
}

Result<Asked> ask_elsewhere(const std::string& directory) {
  PosixFiles files;
  REEF_TRY(const auto program, find_program("reef-bench"));
  const auto output = directory + ".out";
  settle();
  REEF_TRY(auto child, Child::start({program, "--search-index", directory, "-"}, output));
  const auto status = child.wait();
  REEF_CHECK(check_interrupted());
  REEF_TRY(const auto said, read_all(files, output));
  if (status != 0) return Error(Errc::internal, "searching failed: " + said);
  Asked out;
  if (std::sscanf(said.c_str(), "%lf %lf %lf %lf %lf %lf", &out.open_ms, &out.first_ms, &out.p50_us,
                  &out.p99_us, &out.worst_us, &out.resident_mib) != 6)
    return Error(Errc::internal, "searching said: " + said);
  return out;
}

Status measure(std::size_t messages, bool with_rivals) {
  REEF_TRY(const Scratch scratch, Scratch::make());
  const Corpus corpus(messages);
  const auto queries = corpus.queries();
  const auto directory = scratch.path() + "/index";
  std::string lines;
  for (const auto& query : queries) lines += joined(query) + "\n";
  PosixFiles files;
  REEF_CHECK(replace_atomically(files, directory + ".queries", lines));
  REEF_TRY(const auto built, build(corpus, directory));
  REEF_TRY(const auto asked, ask_elsewhere(directory));

  std::vector<Rival> rivals;
  if (with_rivals) {
    for (auto* rival : {measure_sqlite, measure_xapian}) {
      REEF_TRY(auto measured, rival(corpus, scratch.path(), queries));
      rivals.push_back(std::move(measured));
    }
  }
  std::vector<std::string> texts;
  for (const auto& query : queries) texts.push_back(joined(query));
  REEF_TRY(auto daemon, measure_daemon(corpus, scratch.path(), texts));

  std::vector<std::string> heads{"", "Reef", "goal"};
  for (const auto& rival : rivals) heads.push_back(rival.name);
  Table table(fmt::format("Search, {} messages, {} queries of 1-4 words, top {}", messages,
                          queries.size(), kHits),
              heads);
  const auto row = [&](std::string what, std::string ours, std::string goal, auto theirs) {
    std::vector<std::string> cells{std::move(what), std::move(ours), std::move(goal)};
    for (const auto& rival : rivals) cells.push_back(theirs(rival));
    table.add(std::move(cells));
  };
  const auto none = [](const Rival&) { return std::string(); };
  const bool large = messages > kSmall;
  const std::string goal = large ? "< 5000" : "< 1000";
  const auto p50_of = [](const Samples& samples) { return number(in_us(samples.median())); };
  const auto p99_of = [](const Samples& samples) { return in_us(samples.percentile(99)); };
  const auto inside = p99_of(daemon.inside);
  row("with windows: median us", p50_of(daemon.inside), "",
      [&](const Rival& r) { return p50_of(r.with_windows); });
  row("with windows: p99 us", number(inside), goal,
      [&](const Rival& r) { return number(p99_of(r.with_windows)); });
  row("with windows: p99 beside the daemon's", "1", "> 10",
      [&](const Rival& r) { return number(p99_of(r.with_windows) / inside); });
  row("with windows and marks: p99 beside the daemon's", "1", "> 10", [&](const Rival& r) {
    return r.with_marks.size() == 0 ? std::string() : number(p99_of(r.with_marks) / inside);
  });
  row("with windows, received at the socket's other end: p99 us", number(p99_of(daemon.received)),
      "", none);
  row("with windows, client makes objects between questions: p99 us",
      number(p99_of(daemon.inside_unhurried)), "", none);
  row("with windows, as objects at that client: p99 us", number(p99_of(daemon.as_objects)), "",
      none);
  row("rows alone: median us", number(asked.p50_us), "",
      [&](const Rival& r) { return p50_of(r.searches); });
  row("rows alone: p99 us", number(asked.p99_us), "",
      [&](const Rival& r) { return number(p99_of(r.searches)); });
  row("rows alone: slowest us", number(asked.worst_us), "",
      [](const Rival& r) { return number(in_us(r.searches.percentile(100))); });
  row("rows alone: p99 beside the engine's", "1", "> 10",
      [&](const Rival& r) { return number(p99_of(r.searches) / asked.p99_us); });
  row("daemon: index made from transcripts, s", number(in_seconds(daemon.rebuild)),
      large ? "" : "< 3", none);
  row("engine: building, s", number(in_seconds(built.all)), "",
      [](const Rival& r) { return number(in_seconds(r.build)); });
  row("engine: merging afterwards, s", number(in_seconds(built.merge)), "", none);
  row("engine: one more message, us of CPU", number(in_us(built.add)), "< 50", none);
  row("daemon: start to the first answer, ms", number(in_ms(daemon.restart)), "< 100", none);
  row("daemon: the slowest of them, ms", number(in_ms(daemon.slowest_restart)), "", none);
  row("engine: opening to the first answer, ms", number(asked.first_ms), "", none);
  row("daemon: index on disk, % of the text", number(100 * daemon.index_mib / daemon.text_mib),
      "< 40", none);
  row("engine: on disk, % of the text", number(100 * built.index_mib / built.text_mib), "",
      [&](const Rival& r) { return number(100 * r.mib / built.text_mib); });
  row("daemon: resident after all queries, MiB", number(daemon.resident_mib), "< 200", none);
  row("daemon: of that anonymous, MiB", number(daemon.anonymous_mib), "", none);
  row("daemon: resident after a restart, MiB", number(daemon.resident_restarted_mib), "", none);
  table.note(fmt::format("{} MiB of text; engine: {} segments after {} merges, one thread",
                         number(built.text_mib), built.files, built.merges));
  table.note(
      fmt::format("Every query once, and then {} times: its median counts. Of {} starts likewise.",
                  kQueryRounds, kStarts));
  table.note(
      "With windows: the messages around each of the 20 hits, up to 1,024 bytes of each, in the "
      "process that searches. The daemon also ranks by what stands around hits, marks what matches "
      "and writes the answer. Everybody is asked one question after the other; a client that makes "
      "objects of 150 KB between two questions leaves cold caches and sleeping cores behind. With "
      "marks: what matches marked by the other's own means too, where it has any.");
  table.print();
  return Ok{};
}

}  // namespace

Status search_small() {
  return measure(kSmall, true);
}

Status search_alone() {
  return measure(kSmall, false);
}

Status search_large() {
  return measure(kLarge, false);
}

int search_here(const std::string& directory) {
  const auto asked = ask(directory);
  if (!asked) {
    fmt::print("{}\n", asked.error().what);
    return 1;
  }
  fmt::print("{} {} {} {} {} {}\n", asked->open_ms, asked->first_ms, asked->p50_us, asked->p99_us,
             asked->worst_us, asked->resident_mib);
  return 0;
}

}  // namespace reef::benchmarks
