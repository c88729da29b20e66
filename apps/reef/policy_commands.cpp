#include <csignal>

#include <CLI/CLI.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include "base/log.h"
#include "base/utf8.h"
#include "base/visible.h"
#include "command_group.h"
#include "node_rules.h"
#include "policy/policy.h"

namespace reef::cli {

class PolicyCommands final : public CommandGroup {
 public:
  PolicyCommands(CLI::App& app, bool& json);
  bool parsed() const override { return group_->parsed(); }
  int run(const Context& context) const override;

 private:
  CLI::App* group_ = nullptr;
  CLI::App* explain_ = nullptr;
  CLI::App* run_ = nullptr;
  std::string id_;
};

namespace {

namespace asio = boost::asio;

int show(const Context& context) {
  const auto config = node_config(context);
  if (!config) return report("policy", config.error());
  auto rules = policy::to_json(rules_of(*config));
  rules["enabled"] = config->policy_enabled;
  if (context.json) {
    print_json(rules);
    return 0;
  }
  for (const auto& [name, value] : rules)
    print_line(
        fmt::format("{:<18} {}", std::string_view(name),
                    value.is_string() ? std::string(value.get_string()) : json::write(value)));
  return 0;
}

struct Line {
  std::string_view rule, outcome, why;
};

void print(const Context& context, const policy::Survey& found) {
  const auto plan = policy::decide(found.rules, found.facts);
  const auto archive =
      found.rules.archive_days > 0
          ? fmt::format("after {} days without a word, unless flagged", found.rules.archive_days)
          : std::string("archive_days is 0");
  const auto outcome = [](const policy::Verdict& verdict) {
    return std::string_view(verdict.act ? "now" : "no");
  };
  const Line lines[] = {
      {"title", outcome(plan.title), plan.title.why},
      {"flush", outcome(plan.flush), plan.flush.why},
      {"compact", outcome(plan.compact), plan.compact.why},
      {"archive", found.rules.archive_days > 0 ? "later" : "no", archive},
  };
  if (context.json) {
    json::object decisions;
    for (const auto& line : lines)
      decisions[line.rule] = json::object{{"decision", line.outcome}, {"why", line.why}};
    const auto at = policy::limits(found.rules, found.facts.window);
    json::array problems;
    for (const auto& problem : found.problems) problems.emplace_back(problem);
    print_json(json::object{{"session", found.id},
                            {"tokens", found.facts.tokens},
                            {"window", found.facts.window},
                            {"compactAbove", at.compact},
                            {"flushAbove", at.flush},
                            {"reserve", at.reserve},
                            {"compactions", found.facts.compactions},
                            {"decisions", std::move(decisions)},
                            {"rules", policy::to_json(found.rules)},
                            {"problems", std::move(problems)}});
    return;
  }
  print_line(fmt::format("What the policy makes of {} (agent {}, {} compaction(s) so far):",
                         found.id, found.agent, found.facts.compactions));
  for (const auto& line : lines)
    print_line(fmt::format("  {:<8} {:<6} {}", line.rule, line.outcome, line.why));
  for (const auto& problem : found.problems)
    print_line("  wrong, and not counted: " + utf8::visible(problem));
}

Task<Status> explain(const Context& context, client::Client& client, std::string id) {
  REEF_CO_TRY(const auto config, node_config(context));
  const auto rules = rules_of(config);
  REEF_CO_TRY(const auto found, co_await policy::survey(client, id, rules));
  print(context, found);
  co_return Ok{};
}

// Runs the daemon's policy from outside, until interrupted.
Task<Status> stay(const Context& context, client::Client&) {
  REEF_CO_TRY(const auto config, node_config(context));
  const auto loop = co_await asio::this_coro::executor;
  SystemClock clock;
  policy::Policy policy(loop, clock, client::Endpoint{.unix_path = context.home.socket()},
                        [rules = rules_of(config)] { return rules; });
  REEF_CO_CHECK(log::open({.file = {}}));
  policy.start();
  print_line("policy: running; the daemon should have been started with --no-policy");
  std::fflush(stdout);
  asio::signal_set signals(loop, SIGINT, SIGTERM);
  co_await signals.async_wait(asio::use_awaitable);
  co_await policy.stop();
  co_return Ok{};
}

}  // namespace

PolicyCommands::PolicyCommands(CLI::App& app, bool& json) {
  group_ = app.add_subcommand("policy", "What happens by itself: titles, flushes, compactions");
  group_->require_subcommand(0, 1);
  group_->add_flag("--json", json, "Print JSON (docs/cli.md tells the shape)");
  group_->footer("Examples:\n  reef policy\n  reef policy explain 261115-swift-river\n");
  explain_ = group_->add_subcommand("explain", "What it would do with a session now, and why");
  explain_->add_option("ID", id_, "Session id, from `reef sessions`")->required();
  explain_->add_flag("--json", json, "Print JSON (docs/cli.md tells the shape)");
  explain_->footer("Example:\n  reef policy explain 261115-swift-river --json | jq .decisions\n");
  run_ = group_->add_subcommand("run", "Be the policy, for a daemon that runs with --no-policy");
  run_->footer("Example:\n  reefd --no-policy & reef policy run\n");
}

int PolicyCommands::run(const Context& context) const {
  if (explain_->parsed())
    return with_client(context, "policy", Start::if_needed,
                       [&](client::Client& client) { return explain(context, client, id_); });
  if (run_->parsed())
    return with_client(context, "policy", Start::never,
                       [&](client::Client& client) { return stay(context, client); });
  return show(context);
}

std::unique_ptr<CommandGroup> policy_commands(CLI::App& app, bool& json) {
  return std::make_unique<PolicyCommands>(app, json);
}

}  // namespace reef::cli
