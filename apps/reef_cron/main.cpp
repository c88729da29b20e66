// reef-cron: a component that says things to agents at given times. Its tools let agents see and
// change the jobs; docs/components.md tells how it is installed.
#include <cstdio>
#include <ctime>
#include <filesystem>

#include <CLI/CLI.hpp>
#include <boost/asio/this_coro.hpp>
#include <fmt/format.h>

#include "base/clock.h"
#include "base/log.h"
#include "client/client.h"
#include "component/component.h"
#include "component/unit.h"
#include "daemon/home.h"
#include "jobs.h"
#include "timekeeper.h"

namespace {

using namespace reef;
using component::ToolAnswer;

constexpr std::chrono::minutes kTurnPatience{30};

struct Needs {
  Clock& clock;
  cron::Jobs jobs;
  daemon::Home home;
  std::unique_ptr<cron::Timekeeper> timekeeper = {};  // set once there is a loop
};

std::string when(std::time_t time) {
  return format_iso(TimePoint(std::chrono::seconds(time)));
}

ToolAnswer refused(const Error& error) {
  return {error.what, {}, true};
}

Task<ToolAnswer> list(Needs& needs, json::object) {
  if (const auto looked = needs.jobs.look(cron::seconds_now(needs.clock)); !looked)
    co_return refused(looked.error());
  json::array jobs;
  std::string text;
  for (const auto& [name, job] : needs.jobs.all()) {
    jobs.push_back(json::object{{"name", name},
                                {"schedule", job.schedule.text()},
                                {"agent", job.agent},
                                {"message", job.message},
                                {"next", when(job.due)},
                                {"lastError", job.last_error}});
    text +=
        fmt::format("{}: {} -> {}: {} (next {}{}{})\n", name, job.schedule.text(),
                    job.agent.empty() ? "the default agent" : job.agent, job.message, when(job.due),
                    job.last_error.empty() ? "" : "; last time: ", job.last_error);
  }
  co_return ToolAnswer{text.empty() ? "There are no jobs." : text, {{"jobs", std::move(jobs)}}};
}

Task<ToolAnswer> add(Needs& needs, json::object arguments) {
  if (const auto looked = needs.jobs.look(cron::seconds_now(needs.clock)); !looked)
    co_return refused(looked.error());
  const auto text = [&](std::string_view key) {
    return std::string(json::find_string(arguments, key).value_or(""));
  };
  const auto name = text("name");
  const auto added = needs.jobs.add(name, text("schedule"), text("agent"), text("message"),
                                    cron::seconds_now(needs.clock));
  if (!added) co_return refused(added.error());
  if (needs.timekeeper) needs.timekeeper->look_again();
  co_return ToolAnswer{
      fmt::format("Job {} is set; next time {}.", name, when(needs.jobs.all().at(name).due))};
}

Task<ToolAnswer> remove(Needs& needs, json::object arguments) {
  if (const auto looked = needs.jobs.look(cron::seconds_now(needs.clock)); !looked)
    co_return refused(looked.error());
  const std::string name(json::find_string(arguments, "name").value_or(""));
  const auto removed = needs.jobs.remove(name);
  if (!removed) co_return refused(removed.error());
  co_return ToolAnswer{fmt::format("Job {} is gone.", name)};
}

json::object schema(std::initializer_list<std::pair<std::string_view, std::string_view>> fields,
                    std::initializer_list<std::string_view> required) {
  json::object properties;
  for (const auto& [name, what] : fields)
    properties[name] = json::object{{"type", "string"}, {"description", what}};
  json::array names;
  for (const auto name : required) names.emplace_back(name);
  return {{"type", "object"},
          {"properties", std::move(properties)},
          {"required", std::move(names)},
          {"additionalProperties", false}};
}

component::Service service(Needs& needs) {
  component::Service out;
  out.name = "cron";
  out.description = "Reef: messages to agents at given times";
  out.version = REEF_VERSION;
  out.instructions =
      "Use cron_add when the user wants something to happen later or again and again.";
  out.tools.push_back({"cron_list", "The jobs, with the next time of each.", schema({}, {}), true,
                       [&needs](json::object a) { return list(needs, std::move(a)); }});
  out.tools.push_back(
      {"cron_add", "Adds a job, or changes the one of that name: a message an agent gets at times.",
       schema({{"name", "Letters, digits, '-' and '_'"},
               {"schedule",
                "Five cron fields in local time, @hourly, @daily, @weekly, @monthly, "
                "or @every with a span like 90s, 5m, 2h, 1d"},
               {"agent", "Who gets it; the default agent when left out"},
               {"message", "What is said to it"}},
              {"name", "schedule", "message"}),
       false, [&needs](json::object a) { return add(needs, std::move(a)); }});
  out.tools.push_back({"cron_remove", "Takes a job away.",
                       schema({{"name", "Of the job"}}, {"name"}), false,
                       [&needs](json::object a) { return remove(needs, std::move(a)); }});
  return out;
}

// The conversation is the job's own, unless it came with a sender, whose conversation it continues.
Task<Status> say(const daemon::Home& home, std::string name, cron::Job job) {
  client::TurnRequest turn;
  turn.agent = job.agent;
  turn.content = job.message;
  turn.sender = job.sender;
  if (turn.sender.empty()) turn.key = turn.sender = "cron:" + name;
  const auto loop = co_await boost::asio::this_coro::executor;
  client::Endpoint endpoint;
  endpoint.unix_path = home.socket();
  client::Options options;
  options.name = "reef-cron";
  options.answer_timeout = kTurnPatience;
  client::Client client(loop, std::move(endpoint), std::move(options));
  const auto said = co_await client.send(std::move(turn));
  client.close();
  if (!said) co_return said.error();
  co_return Ok{};
}

Task<void> keep_time(Needs& needs) {
  needs.timekeeper =
      std::make_unique<cron::Timekeeper>(co_await boost::asio::this_coro::executor, needs.clock,
                                         needs.jobs, [&needs](std::string name, cron::Job job) {
                                           return say(needs.home, std::move(name), std::move(job));
                                         });
  co_await needs.timekeeper->keep_time();
}

int fail(const Error& error) {
  std::fprintf(stderr, "reef-cron: %s\n", error.what.c_str());
  return traits(error.code).exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "reef-cron says things to agents at given times. It serves its tools over MCP on loopback "
      "and "
      "tells the daemon where by run/cron.port.\n\n"
      "Examples:\n  reef-cron --home ~/.reef\n"
      "  reef-cron --unit > ~/.config/systemd/user/reef-cron.service",
      "reef-cron");
  std::string given_home;
  bool unit = false;
  app.add_option("--home", given_home, "The daemon's home (default: $REEF_HOME, else ~/.reef)")
      ->type_name("DIR");
  app.add_flag("--unit", unit, "Print a unit for systemd and exit");
  app.set_version_flag("--version", std::string("reef-cron ") + REEF_VERSION);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    std::fprintf(stderr, "reef-cron: usage: %s\n", error.what());
    return 2;
  }
  auto home = daemon::find_home(given_home);
  if (!home) return fail(home.error());
  PosixFiles files;
  const auto folder = home->root + "/components/cron";
  SystemClock clock;
  auto jobs = cron::Jobs::load(files, folder + "/jobs.json", cron::seconds_now(clock));
  if (!jobs) return fail(jobs.error());
  Needs needs{.clock = clock, .jobs = *std::move(jobs), .home = *home};
  if (unit) {
    const auto self = std::filesystem::read_symlink("/proc/self/exe").string();
    std::fputs(component::systemd_unit(service(needs), {self, "--home", home->root}).c_str(),
               stdout);
    return 0;
  }
  if (const auto prepared = daemon::prepare_home(files, *home); !prepared)
    return fail(prepared.error());
  if (const auto made = make_directories(files, folder); !made) return fail(made.error());
  component::Options options;
  options.home = home->root;
  options.work = [&needs] { return keep_time(needs); };
  return component::run(service(needs), std::move(options));
}
