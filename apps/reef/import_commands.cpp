// import: takes over sessions of other programs.

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <unistd.h>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include "base/task_group.h"
#include "base/utf8.h"
#include "commands.h"
#include "exchange/places.h"

namespace reef::cli {
namespace {

constexpr std::size_t kBarCells = 30;
// This is enough for a person; a program asks for JSON.
constexpr std::size_t kProblemsShown = 50;

Result<std::string> absolute(const std::string& path) {
  if (path.starts_with('/')) return path;
  char here[4096];
  if (!::getcwd(here, sizeof here)) return sys_error(errno, "find the current directory");
  return std::string(here) + "/" + path;
}

// One line of a terminal, rewritten all the time; prints nothing elsewhere.
class Bar {
 public:
  explicit Bar(bool wanted) : on_(wanted && ::isatty(STDERR_FILENO) == 1) {}
  ~Bar() { clear(); }

  void show(const protocol::ImportEvent& event) {
    if (!on_) return;
    const auto& counts = event.counts();
    const auto total = event.bytes_total();
    const double part = total == 0 ? 0.0 : std::min(1.0, double(counts.bytes()) / double(total));
    const auto full = static_cast<std::size_t>(part * double(kBarCells));
    const auto line = fmt::format("[{}{}] {:3.0f}%  {}  {} session(s)", std::string(full, '#'),
                                  std::string(kBarCells - full, '.'), part * 100,
                                  human_bytes(counts.bytes()), counts.sessions());
    std::fprintf(stderr, "\r\033[K%s", line.c_str());
    drawn_ = true;
  }
  void clear() {
    if (drawn_) std::fputs("\r\033[K", stderr);
    drawn_ = false;
  }

 private:
  bool on_;
  bool drawn_ = false;
};

struct Outcome {
  protocol::ImportEvent last;
  std::vector<protocol::ImportProblem> problems;
  std::vector<protocol::ImportProblem> refused;
};

// Ctrl-C cancels the import, whose report still comes. A second one ends the program.
Task<void> cancel_on_interrupt(boost::asio::signal_set& signals, client::Client& client) {
  boost::system::error_code failed;
  co_await signals.async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, failed));
  if (failed) co_return;
  signals.clear(failed);
  protocol::ClientMessage message;
  message.mutable_cancel_import();
  static_cast<void>(co_await client.request(std::move(message), client::Client::Repeat::never,
                                            std::chrono::seconds(10)));
}

Task<Result<Outcome>> follow(client::Client& client, protocol::ClientMessage message, Bar& bar) {
  REEF_CO_TRY(auto stream, co_await client.open(std::move(message)));
  Outcome out;
  for (;;) {
    REEF_CO_TRY(const auto answer, co_await stream.next());
    if (!answer || !answer->has_import_event())
      co_return Error(Errc::unavailable, "the import ended early");
    const auto& event = answer->import_event();
    for (const auto& problem : event.problems()) out.problems.push_back(problem);
    for (const auto& claim : event.refused()) out.refused.push_back(claim);
    bar.show(event);
    if (!event.last()) continue;
    out.last = event;
    co_return out;
  }
}

Task<Result<Outcome>> import_one(const Context& context, client::Client& client,
                                 const ImportOptions& options, std::string kind, std::string path) {
  protocol::ClientMessage message;
  auto& request = *message.mutable_import_sessions();
  request.set_kind(std::move(kind));
  request.set_path(std::move(path));
  request.set_redact(options.redact);
  request.set_dry_run(options.dry_run);
  request.set_keys(options.keys);
  const auto loop = co_await boost::asio::this_coro::executor;
  boost::asio::signal_set signals(loop, SIGINT, SIGTERM);
  TaskGroup watch(loop, "signals");
  watch.spawn(cancel_on_interrupt(signals, client));
  Bar bar(!context.json);
  auto outcome = co_await follow(client, std::move(message), bar);
  bar.clear();
  boost::system::error_code ignored;
  signals.cancel(ignored);
  co_await watch.join();
  co_return outcome;
}

json::array to_json(const std::vector<protocol::ImportProblem>& problems) {
  json::array out;
  for (const auto& problem : problems)
    out.push_back(
        json::object{{"path", problem.path()}, {"line", problem.line()}, {"why", problem.why()}});
  return out;
}

json::object to_json(const std::string& kind, const std::string& path, const Outcome& outcome) {
  const auto& counts = outcome.last.counts();
  json::array directories;
  for (const auto& one : outcome.last.directories())
    directories.push_back(json::object{{"path", one.path()}, {"sessions", one.sessions()}});
  json::object out{{"kind", kind},
                   {"path", utf8::sanitize(path)},
                   {"sessions", counts.sessions()},
                   {"added", counts.added()},
                   {"continued", counts.continued()},
                   {"unchanged", counts.unchanged()},
                   {"entries", counts.entries()},
                   {"bytes", counts.bytes()},
                   {"definitions", counts.definitions()},
                   {"redacted", counts.redacted()},
                   {"leftOut", to_json(outcome.refused)},
                   {"directories", std::move(directories)},
                   {"problems", to_json(outcome.problems)}};
  if (outcome.last.cancelled()) out["cancelled"] = true;
  if (outcome.last.problems_left_out() > 0)
    out["problemsLeftOut"] = outcome.last.problems_left_out();
  return out;
}

void print_places(const std::string& heading, const std::vector<protocol::ImportProblem>& problems,
                  std::size_t total) {
  if (total == 0) return;
  print_line(heading);
  for (std::size_t i = 0; i < std::min(problems.size(), kProblemsShown); ++i) {
    const auto& problem = problems[i];
    const auto place =
        problem.line() > 0 ? fmt::format("{}:{}", problem.path(), problem.line()) : problem.path();
    print_line(fmt::format("  {}: {}", shown(place), shown(problem.why())));
  }
  if (total > kProblemsShown)
    print_line(fmt::format("  and {} more; --json tells them", total - kProblemsShown));
}

void print_outcome(const ImportOptions& options, const std::string& kind, const std::string& path,
                   const Outcome& outcome) {
  const auto& counts = outcome.last.counts();
  auto line = fmt::format(
      "{} {}: {} session(s): {} {}added, {} continued, {} unchanged; {} entries", kind, shown(path),
      counts.sessions(), counts.added(), options.dry_run ? "would be " : "", counts.continued(),
      counts.unchanged(), counts.entries());
  if (counts.definitions() > 0) line += fmt::format(", {} definition(s)", counts.definitions());
  if (options.redact) line += fmt::format("; {} secret(s) masked", counts.redacted());
  print_line(line);
  if (outcome.last.directories_size() > 0) {
    print_line("their commands will run in:");
    const auto& all = outcome.last.directories();
    for (int i = 0; i < std::min<int>(all.size(), kProblemsShown); ++i)
      print_line(fmt::format("  {}  {} session(s)", shown(all[i].path()), all[i].sessions()));
    if (all.size() > static_cast<int>(kProblemsShown))
      print_line(fmt::format("  and {} more; --json tells them",
                             static_cast<std::size_t>(all.size()) - kProblemsShown));
  }
  print_places(fmt::format("{} claim(s) of files left out:", outcome.refused.size()),
               outcome.refused, outcome.refused.size());
  const auto total = outcome.problems.size() + outcome.last.problems_left_out();
  print_places(fmt::format("{} problem(s):", total), outcome.problems, total);
}

Status ended(const Outcome& outcome) {
  if (outcome.last.cancelled()) return Error(Errc::cancelled, "cancelled; what was imported stays");
  return Ok{};
}

Task<Status> import_path(const Context& context, client::Client& client,
                         const ImportOptions& options) {
  REEF_CO_TRY(const auto path, absolute(options.path));
  REEF_CO_TRY(const auto outcome,
              co_await import_one(context, client, options, options.kind, path));
  if (context.json) {
    print_json(to_json(options.kind, path, outcome));
  } else {
    print_outcome(options, options.kind, path, outcome);
  }
  co_return ended(outcome);
}

bool confirmed() {
  std::fputs("Import these? [y/N] ", stderr);
  std::string answer;
  if (!std::getline(std::cin, answer)) return false;
  return answer == "y" || answer == "Y" || answer == "yes";
}

Task<Status> import_auto(const Context& context, client::Client& client,
                         const ImportOptions& options) {
  protocol::ClientMessage message;
  auto& environment = *message.mutable_find_imports()->mutable_environment();
  for (const auto name : exchange::place_variables())
    if (const char* value = std::getenv(std::string(name).c_str()))
      environment[std::string(name)] = utf8::sanitize(value);
  REEF_CO_TRY(const auto answer,
              co_await client.request(std::move(message), client::Client::Repeat::safe,
                                      std::chrono::minutes(5)));
  const auto& places = answer.import_places().places();
  json::array found;
  for (const auto& place : places) {
    found.push_back(
        json::object{{"kind", place.kind()}, {"path", place.path()}, {"bytes", place.bytes()}});
    if (!context.json)
      print_line(fmt::format("{:<10} {:>10}  {}", place.kind(), human_bytes(place.bytes()),
                             shown(place.path())));
  }
  if (places.empty() && !context.json)
    print_line("nothing found in the well-known places; reef import KIND PATH names one");
  bool wanted = options.yes && !places.empty();
  if (!wanted && !places.empty() && !context.json) {
    std::fflush(stdout);
    if (::isatty(STDIN_FILENO) == 1) {
      wanted = confirmed();
    } else {
      print_line("nothing was imported; --yes imports all of it");
    }
  }
  json::array imported;
  Status outcome = Ok{};
  if (wanted)
    for (const auto& place : places) {
      auto one = co_await import_one(context, client, options, place.kind(), place.path());
      if (!one) {
        // The other places are still imported.
        if (!context.json) report("import " + place.kind(), one.error());
        imported.push_back(json::object{
            {"kind", place.kind()}, {"path", place.path()}, {"error", one.error().what}});
        outcome = std::move(one).error();
        continue;
      }
      imported.push_back(to_json(place.kind(), place.path(), *one));
      if (!context.json) print_outcome(options, place.kind(), place.path(), *one);
      if (one->last.cancelled()) {
        outcome = ended(*one);
        break;
      }
    }
  if (context.json)
    print_json(json::object{{"found", std::move(found)}, {"imported", std::move(imported)}});
  co_return outcome;
}

}  // namespace

int run_import(const Context& context, const ImportOptions& options) {
  return with_client(context, "import", Start::if_needed, [&](client::Client& client) {
    return options.kind == "auto" ? import_auto(context, client, options)
                                  : import_path(context, client, options);
  });
}

}  // namespace reef::cli
