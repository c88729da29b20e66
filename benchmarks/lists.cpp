// Many sessions: how long the daemon takes to become ready, and how long its lists take.
#include <fcntl.h>
#include <filesystem>
#include <sys/statvfs.h>
#include <unistd.h>

#include <fmt/format.h>

#include "daemon/home.h"
#include "engine.h"
#include "organise/definitions.h"
#include "process.h"
#include "sessions.h"
#include "table.h"
#include "talk.h"
#include "transcripts.h"

namespace reef::benchmarks {
namespace {

constexpr std::size_t kPage = 50;
constexpr std::string_view kFilter = "status:todo label:x";
// pi opens all files at once, so a larger number would only measure the descriptor limit.
constexpr std::size_t kPiSessionsMax = 10'000;
constexpr std::uint64_t kFreeBytesMin = 4ULL << 30;
constexpr std::uint64_t kFreeNodesMin = 400'000;

struct Size {
  std::size_t sessions;
  int starts;
  int lists;
  std::string_view ready_ms_goal, list_us_goal;  // empty when there is no goal
};
constexpr Size kSizes[] = {
    {1'000, 11, 1'001, "", ""},
    {10'000, 11, 301, "150", "2000"},
    {100'000, 5, 31, "1000", "20000"},
};

struct Figures {
  Nanos stat_all, read_all;
  Nanos cold, warm;
  Resident after_cold, after_warm;
  Nanos engine_load;
  Samples newest, by_text, by_filter, by_name;
  std::size_t text_matches = 0;
  double pi_ms = 0;  // 0 when it was not measured
};

bool has_room(const std::string& path) {
  struct ::statvfs info = {};
  return ::statvfs(path.c_str(), &info) == 0 &&
         info.f_bavail * std::uint64_t{info.f_frsize} >= kFreeBytesMin &&
         (info.f_files == 0 || info.f_favail >= kFreeNodesMin);
}

// Adds sessions `from` to `to` and waits until they are on disk, because write-back would disturb
// the measurement.
Status generate(const daemon::Home& home, std::size_t from, std::size_t to) {
  for (auto i = from; i < to; ++i) {
    REEF_CHECK(check_interrupted());
    REEF_CHECK(write_transcript(home.sessions(), small_session_id(i), small_transcript(i)));
  }
  const Fd fd(::open(home.root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd || ::syncfs(fd.get()) != 0) return sys_error(errno, "sync " + home.root);
  return Ok{};
}

std::string file_of(const daemon::Home& home, const std::string& name) {
  return home.sessions() + "/" + name + "/session.jsonl";
}

Result<Nanos> stat_all(const daemon::Home& home) {
  PosixFiles files;
  const auto began = now();
  REEF_TRY(const auto names, files.list(home.sessions()));
  for (const auto& name : names) {
    REEF_TRY(const auto stat, files.stat_path(file_of(home, name)));
    static_cast<void>(stat);
  }
  return now() - began;
}

Result<Nanos> read_everything(const daemon::Home& home) {
  PosixFiles files;
  const auto began = now();
  REEF_TRY(const auto names, files.list(home.sessions()));
  for (const auto& name : names) {
    REEF_TRY(const auto bytes, read_all(files, file_of(home, name)));
    if (bytes.empty()) return Error(Errc::corrupt, "session " + name + " is empty");
  }
  return now() - began;
}

Result<Samples> list_often(session::Sessions& sessions, const session::Query& query, int times,
                           std::size_t& matches) {
  Samples samples;
  for (int i = 0; i < times; ++i) {
    const auto began = now();
    REEF_TRY(const auto page, sessions.list(query));
    samples.add(now() - began);
    matches = page.total;
    if (page.rows.empty()) return Error(Errc::internal, "a list is empty");
  }
  return samples;
}

Task<Status> measure_engine(Executor loop, const daemon::Home& home, const Size& size,
                            Figures& out) {
  Engine engine(loop, home.root, kPoolThreads);
  const auto began = now();
  REEF_CO_CHECK(co_await engine.sessions.load());
  out.engine_load = now() - began;
  if (engine.sessions.size() != size.sessions)
    co_return Error(Errc::internal, fmt::format("{} sessions instead of {}", engine.sessions.size(),
                                                size.sessions));
  std::size_t matches = 0;
  session::Query query;
  query.limit = kPage;
  REEF_CO_TRY(out.newest, list_often(engine.sessions, query, size.lists, matches));
  query.sort = session::Query::Sort::name;
  REEF_CO_TRY(out.by_name, list_often(engine.sessions, query, size.lists / 5 + 1, matches));
  query.sort = session::Query::Sort::updated;
  query.text = topic_of(7);
  REEF_CO_TRY(out.by_text, list_often(engine.sessions, query, size.lists, out.text_matches));
  query.text.clear();
  store::FsDocuments documents(engine.files, home.root);
  organise::Definitions definitions(loop, documents, engine.pool);
  const auto defined = co_await definitions.look();
  REEF_CO_TRY(const auto filter, organise::parse_filter(kFilter));
  const organise::Look look{defined->statuses, defined->labels, SystemClock().now()};
  query.where = [&](const session::Row& row) { return organise::holds(filter, row, look); };
  REEF_CO_TRY(out.by_filter, list_often(engine.sessions, query, size.lists, matches));
  if (matches != size.sessions / kLabelledEvery)
    co_return Error(Errc::internal, fmt::format("{} sessions match {}", matches, kFilter));
  co_await engine.sessions.stop();
  co_return Ok{};
}

// Measures pi on the same files, under the names that pi looks for.
Result<double> measure_pi(const daemon::Home& home, const Pi& pi, std::size_t sessions) {
  const auto directory = home.root + "/pi";
  PosixFiles files;
  REEF_CHECK(make_directories(files, directory));
  for (std::size_t i = 0; i < sessions; ++i) {
    const auto name = small_session_id(i).text();
    const auto link = fmt::format("{}/{}.jsonl", directory, name);
    if (::link(file_of(home, name).c_str(), link.c_str()) != 0 && errno != EEXIST)
      return sys_error(errno, "link " + link);
  }
  REEF_TRY(const auto report, pi.list(directory, home.root));
  if (report.count != sessions)
    return Error(Errc::internal,
                 fmt::format("pi lists {} sessions instead of {}", report.count, sessions));
  return report.ms;
}

Result<Figures> measure(const daemon::Home& home, const Size& size, const Result<Pi>& pi) {
  Figures out;
  REEF_TRY(out.stat_all, stat_all(home));
  REEF_TRY(out.read_all, read_everything(home));
  std::error_code failed;
  std::filesystem::remove_all(home.root + "/catalog", failed);
  {
    REEF_TRY(const auto daemon, start_daemon(home));
    out.cold = daemon.start_up;
    REEF_TRY(out.after_cold, resident(daemon.process.pid()));
  }
  Samples warm;
  for (int i = 0; i < size.starts; ++i) {
    REEF_CHECK(check_interrupted());
    REEF_TRY(const auto daemon, start_daemon(home));
    warm.add(daemon.start_up);
    REEF_TRY(out.after_warm, resident(daemon.process.pid()));
  }
  out.warm = warm.median();
  REEF_CHECK(run_on_loop([&](Executor loop) { return measure_engine(loop, home, size, out); }));
  if (pi && size.sessions <= kPiSessionsMax) {
    REEF_TRY(out.pi_ms, measure_pi(home, *pi, size.sessions));
  }
  return out;
}

class Columns {
 public:
  void add(const Size& size, Figures figures) { all_.emplace_back(&size, std::move(figures)); }

  Status print(const std::vector<std::string>& notes) const {
    std::vector<std::string> heads{""};
    for (const auto& [size, figures] : all_) {
      heads.push_back(fmt::format("{}", size->sessions));
      heads.emplace_back("goal");
    }
    Table table("Many sessions of two turns each, files in the page cache", std::move(heads));
    add_rows(table);
    for (const auto& text : notes) table.note(text);
    table.print();
    return Ok{};
  }

 private:
  template <class Value, class Goal>
  void row(Table& table, std::string what, Value value, Goal goal) const {
    std::vector<std::string> cells{std::move(what)};
    for (const auto& [size, figures] : all_) {
      cells.push_back(value(*size, figures));
      cells.push_back(goal(*size));
    }
    table.add(std::move(cells));
  }

  void add_rows(Table& table) const {
    const auto no_goal = [](const Size&) { return std::string(); };
    const auto below = [](std::string_view goal) {
      return goal.empty() ? std::string() : fmt::format("< {}", goal);
    };
    const auto ms = [&](std::string what, Nanos Figures::*member) {
      row(
          table, std::move(what),
          [member](const Size&, const Figures& f) { return number(in_ms(f.*member)); }, no_goal);
    };
    const auto median_us = [&](std::string what, Samples Figures::*member, auto goal) {
      row(
          table, std::move(what),
          [member](const Size&, const Figures& f) { return number(in_us((f.*member).median())); },
          goal);
    };
    const auto mib = [&](std::string what, Resident Figures::*member) {
      row(
          table, std::move(what),
          [member](const Size&, const Figures& f) { return number((f.*member).all_mib); }, no_goal);
    };
    ms("stat of every transcript, ms (limit)", &Figures::stat_all);
    ms("reading every transcript, ms (limit)", &Figures::read_all);
    ms("reefd without catalog, exec to ready, ms", &Figures::cold);
    row(
        table, "reefd with catalog, exec to ready, median ms",
        [](const Size&, const Figures& f) { return number(in_ms(f.warm)); },
        [&](const Size& size) { return below(size.ready_ms_goal); });
    ms("Sessions::load in this process, with catalog, ms", &Figures::engine_load);
    median_us(fmt::format("newest {}, median us", kPage), &Figures::newest,
              [&](const Size& size) { return below(size.list_us_goal); });
    row(
        table, fmt::format("newest {}, p99 us", kPage),
        [](const Size&, const Figures& f) { return number(in_us(f.newest.percentile(99))); },
        no_goal);
    median_us(fmt::format("newest {} with a text, median us", kPage), &Figures::by_text, no_goal);
    median_us(fmt::format("newest {} with {}, median us", kPage, kFilter), &Figures::by_filter,
              no_goal);
    median_us(fmt::format("first {} by name, median us", kPage), &Figures::by_name, no_goal);
    mib("reefd after that start without catalog, MiB", &Figures::after_cold);
    mib("reefd after a start with catalog, MiB", &Figures::after_warm);
    row(
        table, "RssAnon per session, KiB",
        [](const Size& size, const Figures& f) {
          return number(f.after_warm.anonymous_mib * 1024 / static_cast<double>(size.sessions));
        },
        no_goal);
    row(
        table, "pi's SessionManager.list, median ms",
        [](const Size&, const Figures& f) { return f.pi_ms > 0 ? number(f.pi_ms) : std::string(); },
        no_goal);
  }

  std::vector<std::pair<const Size*, Figures>> all_;
};

}  // namespace

Status print_lists(const std::string& scratch, const Result<Pi>& pi) {
  PosixFiles files;
  const daemon::Home home{scratch + "/lists"};
  REEF_CHECK(daemon::prepare_home(files, home));
  Columns columns;
  std::vector<std::string> notes{
      fmt::format("a text: one session of a hundred has it; the label: one of {}", kLabelledEvery)};
  std::size_t made = 0;
  for (const auto& size : kSizes) {
    if (size.sessions > kPiSessionsMax && !has_room(scratch)) {
      notes.push_back(fmt::format(
          "{} sessions were left out: they want 4 GB and 400,000 files free", size.sessions));
      break;
    }
    REEF_CHECK(generate(home, made, size.sessions));
    made = size.sessions;
    REEF_TRY(auto figures, measure(home, size, pi));
    columns.add(size, std::move(figures));
  }
  if (!pi) notes.push_back("pi was left out: " + pi.error().what);
  return columns.print(notes);
}

}  // namespace reef::benchmarks
