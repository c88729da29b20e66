#include <cstdio>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/utf8.h"
#include "base/visible.h"
#include "command_rows.h"

namespace reef::cli {
namespace {

using client::Client;

void print_permissions(const protocol::PermissionList& list) {
  print_line(fmt::format("mode: {}", shown(list.mode())));
  if (!list.sandbox().empty())
    print_line(
        fmt::format("this kernel cannot enforce all of safe mode: {}", shown(list.sandbox())));
  if (list.permissions().empty()) {
    print_line("nothing is allowed for good");
    return;
  }
  print_line("allowed for good in this session:");
  for (const auto& permission : list.permissions())
    print_line(fmt::format("  {:<8} {}   (since {})", shown(permission.tool()),
                           shown(permission.rule()), shown(permission.granted_at())));
}

Task<Status> permissions(const Context& context, Client& client, protocol::ClientMessage message) {
  REEF_CO_TRY(const auto answer,
              co_await client.request(std::move(message), Client::Repeat::never, kAnswerMax));
  const auto& list = answer.permission_list();
  if (!context.json) {
    print_permissions(list);
    co_return Ok{};
  }
  json::array out;
  for (const auto& permission : list.permissions())
    out.push_back(json::object{{"tool", permission.tool()},
                               {"rule", permission.rule()},
                               {"grantedAt", permission.granted_at()}});
  print_json(json::object{
      {"mode", list.mode()}, {"permissions", std::move(out)}, {"sandboxLacks", list.sandbox()}});
  co_return Ok{};
}

Task<Status> set_mode(const Context& context, Client& client, std::string id, std::string mode) {
  protocol::ClientMessage message;
  message.mutable_patch_session()->set_id(id);
  message.mutable_patch_session()->set_patch(json::write(json::object{{"permissionMode", mode}}));
  REEF_CO_TRY(const auto row, co_await client.change_session(std::move(message)));
  if (context.json) {
    print_json(json::object{{"id", row.id()}, {"permissionMode", mode}});
  } else {
    print_line(fmt::format("{} is in {} mode", row.id(), mode));
  }
  co_return Ok{};
}

Task<Status> plans(const Context& context, Client& client, std::string id) {
  protocol::ClientMessage message;
  message.mutable_list_plans()->set_session_id(id);
  REEF_CO_TRY(const auto answer,
              co_await client.request(std::move(message), Client::Repeat::safe, kAnswerMax));
  json::array out;
  for (const auto& plan : answer.plan_list().plans()) {
    if (!context.json) {
      print_line(fmt::format("# {}   ({})\n{}\n", shown(plan.name()), shown(plan.changed_at()),
                             utf8::visible(plan.content())));
      continue;
    }
    out.push_back(json::object{
        {"name", plan.name()}, {"content", plan.content()}, {"changedAt", plan.changed_at()}});
  }
  if (context.json) print_json(out);
  if (!context.json && answer.plan_list().plans().empty()) print_line("no plans");
  co_return Ok{};
}

Task<Status> accept(const Context& context, Client& client, protocol::ClientMessage message) {
  REEF_CO_TRY(auto stream, co_await client.open(std::move(message)));
  Output output;
  std::string reply;
  protocol::StreamEnd end;
  for (;;) {
    REEF_CO_TRY(const auto answer, co_await stream.next());
    if (!answer) break;
    const auto& event = answer->stream();
    if (event.has_chunk()) {
      reply += event.chunk().content();
      if (context.json) continue;
      output.write(event.chunk().content());
      std::fflush(stdout);
    } else if (event.has_ask_user()) {
      for (const auto& question : event.ask_user().questions())
        fmt::print(stderr, "{}\nIt waits for an answer; reef chat can give it.\n",
                   utf8::visible(question.question()));
    } else if (event.has_end()) {
      end = event.end();
      break;
    }
  }
  if (context.json) {
    print_json(
        json::object{{"session", end.session_id()}, {"reply", reply}, {"error", end.error()}});
  } else if (!reply.empty()) {
    print_line("");
  }
  if (!end.error().empty()) co_return Error(Errc::provider, end.error());
  co_return Ok{};
}

}  // namespace

class PermissionCommands final : public CommandGroup {
 public:
  PermissionCommands(CLI::App& app, bool& json);
  bool parsed() const override;
  int run(const Context& context) const override;

 private:
  struct Options {
    CLI::App* permissions = nullptr;
    CLI::App* mode = nullptr;
    CLI::App* plans = nullptr;
    CLI::App* accept = nullptr;
    std::string id, wanted_mode, plan, plan_mode, revoke, tool;
  };
  Options options_;
};

PermissionCommands::PermissionCommands(CLI::App& app, bool& json) {
  auto& o = options_;
  const auto add = [&](CLI::App& parent, const char* name, const char* what,
                       const std::string& example) {
    return add_command(parent, json, name, what, example);
  };
  const auto with_id = [&](CLI::App* command) {
    command->add_option("ID", o.id, "Session id, from `reef sessions`")->required();
    return command;
  };
  o.permissions = with_id(add(app, "permissions", "What tools may do in a session without asking",
                              "reef permissions 261115-swift-river --revoke 'git push'"));
  o.permissions->add_option("--revoke", o.revoke, "Take this rule back; `all` takes back all")
      ->type_name("RULE");
  o.permissions->add_option("--tool", o.tool, "Only of this tool")->type_name("TOOL");
  o.mode = with_id(
      add(app, "mode", "Set a session's permission mode", "reef mode 261115-swift-river safe"));
  o.mode->add_option("MODE", o.wanted_mode, "safe: look only; ask: before changes; allow-all")
      ->required()
      ->check(CLI::IsMember({"safe", "ask", "allow-all"}));
  o.plans =
      with_id(add(app, "plans", "Plans an agent has handed in", "reef plans 261115-swift-river"));
  auto* plan =
      add(app, "plan", "Accept a plan", "reef plan accept 261115-swift-river move-the-tests");
  plan->require_subcommand(1, 1);
  o.accept = with_id(add(*plan, "accept", "Leave safe mode and carry a plan out",
                         "reef plan accept 261115-swift-river move-the-tests --mode allow-all"));
  o.accept->add_option("NAME", o.plan, "From `reef plans`")->required();
  o.accept->add_option("--mode", o.plan_mode, "ask (default) or allow-all")
      ->check(CLI::IsMember({"ask", "allow-all"}));
}

bool PermissionCommands::parsed() const {
  const auto& o = options_;
  return o.permissions->parsed() || o.mode->parsed() || o.plans->parsed() || o.accept->parsed();
}

int PermissionCommands::run(const Context& context) const {
  const auto& o = options_;
  protocol::ClientMessage message;
  if (o.mode->parsed())
    return with_client(context, "mode", Start::if_needed, [&](Client& client) {
      return set_mode(context, client, o.id, o.wanted_mode);
    });
  if (o.plans->parsed())
    return with_client(context, "plans", Start::if_needed,
                       [&](Client& client) { return plans(context, client, o.id); });
  if (o.accept->parsed()) {
    auto& request = *message.mutable_accept_plan();
    request.set_session_id(o.id);
    request.set_name(o.plan);
    request.set_mode(o.plan_mode);
    return with_client(context, "plan accept", Start::if_needed,
                       [&](Client& client) { return accept(context, client, message); });
  }
  if (o.revoke.empty()) {
    message.mutable_list_permissions()->set_session_id(o.id);
  } else {
    auto& request = *message.mutable_revoke_permission();
    request.set_session_id(o.id);
    request.set_tool(o.tool);
    if (o.revoke != "all") request.set_rule(o.revoke);
  }
  return with_client(context, "permissions", Start::if_needed,
                     [&](Client& client) { return permissions(context, client, message); });
}

std::unique_ptr<CommandGroup> permission_commands(CLI::App& app, bool& json) {
  return std::make_unique<PermissionCommands>(app, json);
}

}  // namespace reef::cli
