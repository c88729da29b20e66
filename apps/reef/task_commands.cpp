#include <cstdio>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/utf8.h"
#include "command_group.h"

namespace reef::cli {

class TaskCommands final : public CommandGroup {
 public:
  TaskCommands(CLI::App& app, bool& json);
  bool parsed() const override;
  int run(const Context& context) const override;

 private:
  struct Options {
    CLI::App *ps = nullptr, *cancel = nullptr;
    bool watch = false;
    std::string id;
  };
  Options options_;
};

namespace {

using Repeat = client::Client::Repeat;
using protocol::TaskInfo;

json::object to_json(const TaskInfo& task) {
  return json::object{
      {"id", task.id()},
      {"kind", task.kind()},
      {"what", task.what()},
      {"agent", task.agent()},
      {"sender", task.sender()},
      {"session", task.session_id()},
      {"parent", task.parent()},
      {"startedAt", task.started_at()},
      {"progress", task.progress() < 0 ? json::value(nullptr) : json::value(task.progress())},
      {"detail", task.detail()},
      {"canCancel", task.can_cancel()},
      {"state", task.state()}};
}

std::string line_of(const TaskInfo& task, TimePoint now) {
  const auto started = parse_iso(task.started_at()).value_or(now);
  auto out = fmt::format("{:<6} {:<10} {:>5}  {}", task.id(), shown(task.kind()),
                         short_age(started, now), shown(task.what()));
  if (task.progress() >= 0) out += fmt::format("  {:.0f}%", task.progress() * 100);
  if (!task.detail().empty()) out += "  " + shown(task.detail());
  if (!task.session_id().empty() && task.kind() != "tool") out += "  " + shown(task.session_id());
  if (!task.parent().empty()) out += "  (of " + task.parent() + ")";
  return out;
}

Task<Status> list_tasks(const Context& context, client::Client& client) {
  protocol::ClientMessage message;
  message.mutable_list_tasks();
  REEF_CO_TRY(const auto answer,
              co_await client.request(std::move(message), Repeat::safe, kAnswerMax));
  const auto& tasks = answer.task_list().tasks();
  if (context.json) {
    json::array out;
    for (const auto& task : tasks) out.push_back(to_json(task));
    print_json(out);
    co_return Ok{};
  }
  if (tasks.empty()) print_line("nothing runs");
  const auto now = SystemClock().now();
  for (const auto& task : tasks) print_line(line_of(task, now));
  co_return Ok{};
}

Task<Status> watch_tasks(const Context& context, client::Client& client) {
  protocol::ClientMessage message;
  message.mutable_subscribe_tasks();
  REEF_CO_TRY(auto stream, co_await client.open(std::move(message)));
  for (;;) {
    REEF_CO_TRY(const auto answer, co_await stream.next());
    if (!answer) co_return Ok{};
    const auto& event = answer->task_event();
    if (context.json) {
      auto out = to_json(event.task());
      if (event.missed() > 0) out["missed"] = event.missed();
      print_json(out);
    } else {
      if (event.missed() > 0) print_line(fmt::format("... {} change(s) missed", event.missed()));
      print_line(fmt::format("{:<9} {}", event.task().state(),
                             line_of(event.task(), SystemClock().now())));
    }
    std::fflush(stdout);
  }
}

Task<Status> cancel_task(const Context& context, client::Client& client, std::string id) {
  protocol::ClientMessage message;
  message.mutable_cancel_task()->set_id(id);
  auto said = fmt::format("{} is asked to end", shown(id));
  return expect_pong(context, client, std::move(message), std::move(said));
}

}  // namespace

TaskCommands::TaskCommands(CLI::App& app, bool& json) {
  auto& o = options_;
  o.ps = app.add_subcommand("ps", "What runs: turns, tools, delegated work, imports");
  o.ps->require_subcommand(0, 1);
  o.ps->footer("Examples:\n  reef ps\n  reef ps --watch --json\n  reef ps cancel t12\n");
  o.ps->add_flag("--json", json, "Print JSON (docs/cli.md tells the shape)");
  o.ps->add_flag("-w,--watch", o.watch, "Go on with every change until interrupted");
  o.cancel = o.ps->add_subcommand("cancel", "Ask a task to end; what is done stays done");
  o.cancel->add_flag("--json", json, "Print JSON");
  o.cancel->add_option("ID", o.id, "From `reef ps`")->required();
  o.cancel->footer("Example:\n  reef ps cancel t12\n");
}

bool TaskCommands::parsed() const {
  return options_.ps->parsed();
}

int TaskCommands::run(const Context& context) const {
  const auto& o = options_;
  if (!utf8::valid(o.id)) {
    report("ps", Error(Errc::invalid, "an id must be UTF-8"));
    return 2;
  }
  return with_client(context, "ps", Start::if_needed, [&](client::Client& client) {
    if (o.cancel->parsed()) return cancel_task(context, client, o.id);
    return o.watch ? watch_tasks(context, client) : list_tasks(context, client);
  });
}

std::unique_ptr<CommandGroup> task_commands(CLI::App& app, bool& json) {
  return std::make_unique<TaskCommands>(app, json);
}

}  // namespace reef::cli
