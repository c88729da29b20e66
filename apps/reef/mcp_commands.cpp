#include <cstdio>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/utf8.h"
#include "command_rows.h"
#include "mcp_login.h"
#include "secret.h"

namespace reef::cli {

class McpCommands final : public CommandGroup {
 public:
  McpCommands(CLI::App& app, bool& json);
  bool parsed() const override { return options_.group->parsed(); }
  int run(const Context& context) const override;

 private:
  struct Options {
    CLI::App* group = nullptr;
    CLI::App *ls = nullptr, *add = nullptr, *rm = nullptr, *test = nullptr, *watch = nullptr;
    CLI::App *login = nullptr, *logout = nullptr;
    std::string agent, name, url, auth, cwd;
    std::vector<std::string> command, env, headers, oauth;
    int timeout = 0;
  };
  Result<json::object> server() const;
  Options options_;
};

namespace {

using client::Client;

constexpr std::chrono::milliseconds kTestMax{180'000};

std::string_view word_for(const protocol::McpInfo& info) {
  if (info.needs_login()) return "needs login";
  switch (info.status()) {
    case protocol::MCP_STATUS_CONNECTED:
      return "connected";
    case protocol::MCP_STATUS_DISCONNECTED:
      return "disconnected";
    case protocol::MCP_STATUS_FAILED:
      return "failed";
    case protocol::MCP_STATUS_CONNECTING:
      return "connecting";
    default:
      return "not used yet";
  }
}

std::string_view word_for(const protocol::McpEvent& event) {
  if (event.needs_login()) return "needs login";
  switch (event.kind()) {
    case protocol::MCP_EVENT_KIND_CONNECTING:
      return "connecting";
    case protocol::MCP_EVENT_KIND_CONNECTED:
      return "connected";
    case protocol::MCP_EVENT_KIND_FAILED:
      return "failed";
    case protocol::MCP_EVENT_KIND_DISCONNECTED:
      return "disconnected";
    default:
      return "unknown";
  }
}

std::string place_of(const protocol::McpInfo& info) {
  if (!info.url().empty()) return info.url();
  auto out = info.command();
  for (const auto& arg : info.args()) out += " " + arg;
  return out;
}

json::object to_json(const protocol::McpInfo& info) {
  json::array args;
  for (const auto& arg : info.args()) args.push_back(json::value(arg));
  json::object env;
  for (const auto& [name, value] : info.env()) env[name] = value;
  json::object oauth;
  for (const auto& [name, value] : info.oauth()) oauth[name] = value;
  return {{"name", info.name()},
          {"agent", info.source()},
          {"status", word_for(info)},
          {"error", info.error()},
          {"tools", info.tool_count()},
          {"command", info.command()},
          {"args", std::move(args)},
          {"env", std::move(env)},
          {"url", info.url()},
          {"auth", info.auth()},
          {"oauth", std::move(oauth)},
          {"login", info.login()},
          {"autoRestart", info.auto_restart()}};
}

void print(const protocol::McpInfo& info) {
  print_line(fmt::format("{:<12} {:<16} {:<12} {:>3} tools  {}", shown(info.source()),
                         shown(info.name()), word_for(info), info.tool_count(),
                         shown(place_of(info))));
  if (!info.error().empty()) print_line("             " + shown(info.error()));
  if (!info.login().empty()) print_line("             logged in with " + shown(info.login()));
}

Task<Status> ls(const Context& context, Client& client, std::string agent) {
  protocol::ClientMessage message;
  message.mutable_list_mcps()->set_agent(agent);
  REEF_CO_TRY(const auto answer,
              co_await client.request(std::move(message), Client::Repeat::safe, kAnswerMax));
  json::array out;
  for (const auto& info : answer.mcp_list().mcps()) {
    if (context.json) {
      out.push_back(to_json(info));
    } else {
      print(info);
    }
  }
  if (context.json) print_json(out);
  if (!context.json && answer.mcp_list().mcps().empty())
    print_line("no MCP servers; `reef mcp add --help` tells how to add one");
  co_return Ok{};
}

Task<Status> add(const Context& context, Client& client, std::string agent, json::object server) {
  protocol::ClientMessage message;
  message.mutable_upsert_mcp()->set_agent(agent);
  message.mutable_upsert_mcp()->set_config(json::write(server));
  REEF_CO_TRY(const auto answer,
              co_await client.request(std::move(message), Client::Repeat::safe, kAnswerMax));
  if (context.json) {
    print_json(to_json(answer.mcp_info()));
  } else {
    print_line(fmt::format("agent {} has server {}; `reef mcp test {} -a {}` tries it", agent,
                           shown(answer.mcp_info().name()), shown(answer.mcp_info().name()),
                           agent));
  }
  co_return Ok{};
}

Task<Status> rm(const Context& context, Client& client, std::string agent, std::string name) {
  protocol::ClientMessage message;
  message.mutable_delete_mcp()->set_agent(agent);
  message.mutable_delete_mcp()->set_name(name);
  REEF_CO_TRY(const auto answer,
              co_await client.request(std::move(message), Client::Repeat::never, kAnswerMax));
  static_cast<void>(answer);
  if (context.json) {
    print_json(json::object{{"removed", name}, {"agent", agent}});
  } else {
    print_line(fmt::format("agent {} has server {} no more", agent, name));
  }
  co_return Ok{};
}

Task<Status> test(const Context& context, Client& client, protocol::ClientMessage message) {
  REEF_CO_TRY(const auto answer,
              co_await client.request(std::move(message), Client::Repeat::safe, kTestMax));
  const auto& verdict = answer.mcp_verdict();
  if (context.json) {
    json::array tools, resources, prompts;
    for (const auto& tool : verdict.tools())
      tools.push_back(json::object{{"name", tool.name()},
                                   {"description", tool.description()},
                                   {"readOnly", tool.read_only()}});
    for (const auto& one : verdict.resources()) resources.push_back(json::value(one));
    for (const auto& one : verdict.prompts()) prompts.push_back(json::value(one));
    print_json(json::object{{"ok", verdict.ok()},
                            {"server", verdict.server()},
                            {"protocol", verdict.protocol()},
                            {"transport", verdict.transport()},
                            {"connectMs", verdict.connect_ms()},
                            {"tools", std::move(tools)},
                            {"resources", std::move(resources)},
                            {"prompts", std::move(prompts)},
                            {"needsLogin", verdict.needs_login()},
                            {"error", verdict.error()}});
  } else if (verdict.ok()) {
    print_line(fmt::format("{} speaks MCP {} over {}; connected in {} ms", shown(verdict.server()),
                           verdict.protocol(), verdict.transport(), verdict.connect_ms()));
    for (const auto& tool : verdict.tools())
      print_line(fmt::format("  tool      {}{}: {}", shown(tool.name()),
                             tool.read_only() ? " (only looks)" : "",
                             utf8::excerpt(shown(tool.description()), 100)));
    for (const auto& one : verdict.resources()) print_line("  resource  " + shown(one));
    for (const auto& one : verdict.prompts()) print_line("  prompt    " + shown(one));
  }
  if (!verdict.ok())
    co_return Error(verdict.needs_login() ? Errc::unauthorized : Errc::unavailable,
                    shown(verdict.error()));
  co_return Ok{};
}

Task<Status> watch(const Context& context, Client& client) {
  protocol::ClientMessage message;
  message.mutable_subscribe_mcp_events();
  REEF_CO_TRY(auto stream, co_await client.open(std::move(message)));
  for (;;) {
    REEF_CO_TRY(const auto answer, co_await stream.next());
    if (!answer) co_return Ok{};
    const auto& event = answer->mcp_event();
    if (context.json) {
      json::array tools;
      for (const auto& tool : event.tools()) tools.push_back(json::value(tool));
      print_json(json::object{{"time", event.timestamp()},
                              {"kind", word_for(event)},
                              {"agent", event.agent()},
                              {"name", event.name()},
                              {"tools", std::move(tools)},
                              {"error", event.error()}});
    } else {
      auto line = fmt::format("{}  {} {} {}", event.timestamp(), shown(event.agent()),
                              shown(event.name()), word_for(event));
      if (event.tools_size() > 0) line += fmt::format(", {} tools", event.tools_size());
      if (!event.error().empty()) line += ": " + shown(event.error());
      print_line(line);
    }
    std::fflush(stdout);
  }
}

// Whether a name may stand without a value, which then comes from elsewhere.
enum class Alone { no, variable, secret };

// Reads NAME=VALUE, or "Name: value".
Result<json::object> pairs_from(const std::vector<std::string>& texts, char separator,
                                std::string_view what, Alone alone = Alone::no) {
  json::object out;
  for (const auto& text : texts) {
    const auto at = text.find(separator);
    if (at == std::string::npos && !text.empty() && alone != Alone::no) {
      REEF_TRY(out[text], alone == Alone::variable ? read_variable(text) : read_secret("-", text));
      continue;
    }
    if (at == std::string::npos || at == 0)
      return Error(Errc::invalid, fmt::format("{}: NAME{}VALUE is expected", what, separator));
    const auto value = text.substr(at + 1);
    const auto first = value.find_first_not_of(' ');
    out[text.substr(0, at)] = first == std::string::npos ? std::string() : value.substr(first);
  }
  return out;
}

// Reads KEY=VALUE of an `oauth` table; the daemon checks it.
Result<json::object> oauth_from(const std::vector<std::string>& texts) {
  REEF_TRY(auto out, pairs_from(texts, '=', "--oauth"));
  if (const auto scopes = json::find_string(out, "scopes")) {
    json::array list;
    auto rest = *scopes;
    while (!rest.empty()) {
      const auto end = std::min(rest.find_first_of(" ,"), rest.size());
      if (end > 0) list.push_back(json::value(rest.substr(0, end)));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    out["scopes"] = std::move(list);
  }
  if (const auto port = json::find_string(out, "redirect_port"))
    if (auto number = json::parse(*port); number && number->is_number())
      out["redirect_port"] = *std::move(number);
  return out;
}

}  // namespace

McpCommands::McpCommands(CLI::App& app, bool& json) {
  auto& o = options_;
  o.group = app.add_subcommand("mcp", "MCP servers of agents");
  o.group->require_subcommand(1, 1);
  const auto add = [&](const char* name, const char* what, const std::string& example) {
    return add_command(*o.group, json, name, what, example);
  };
  const auto with_agent = [&](CLI::App* command, const char* what) {
    command->add_option("-a,--agent", o.agent, what)->type_name("AGENT");
    return command;
  };
  const auto with_name = [&](CLI::App* command) {
    command->add_option("NAME", o.name, "The server's name")->required();
    return command;
  };
  const auto with_place = [&](CLI::App* command) {
    command->add_option("--url", o.url, "Address of a server that speaks HTTP")->type_name("URL");
    command
        ->add_option("--auth", o.auth,
                     "Its bearer token: env:NAME, cmd:COMMAND, or the words; -: the next line of "
                     "standard input")
        ->type_name("SOURCE");
    command
        ->add_option("--oauth", o.oauth,
                     "How to log in to it, where it needs to be said (docs/mcp.md: client_id, "
                     "scopes, ...); may be given several times")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false);
    command
        ->add_option("--header", o.headers,
                     "A header for it; may be given several times. Without a value: the next line "
                     "of standard input")
        ->type_name("NAME[:VALUE]")
        ->allow_extra_args(false);
    command
        ->add_option("--env", o.env,
                     "A variable of the program; may be given several times. Without a value: this "
                     "shell's, else the next line of standard input")
        ->type_name("NAME[=VALUE]")
        ->allow_extra_args(false);
    command->add_option("--cwd", o.cwd, "Folder the program runs in")->type_name("FOLDER");
    command->add_option("--timeout", o.timeout, "Seconds a call may be silent (default: 60)")
        ->type_name("SECONDS");
    command->add_option("COMMAND", o.command, "Behind --: the program and its arguments");
    return command;
  };
  o.ls = with_agent(add("ls", "List the servers agents have", "reef mcp ls --agent reef"),
                    "Only of this agent");
  o.add = with_place(with_agent(
      with_name(add("add", "Give an agent a server, or change the one of that name",
                    "reef mcp add files -a reef -- npx -y @modelcontextprotocol/server-filesystem "
                    "/srv\n  reef mcp add issues --url https://example.org/mcp --auth "
                    "env:ISSUES_TOKEN")),
      "Agent (default: reef)"));
  o.rm =
      with_agent(with_name(add("rm", "Take a server from an agent", "reef mcp rm files -a reef")),
                 "Agent (default: reef)");
  o.test = with_place(with_agent(
      with_name(add("test", "Connect to a server, list what it has, and let go",
                    "reef mcp test files -a reef\n  reef mcp test new -- my-server --stdio")),
      "Agent (default: the daemon's)"));
  o.login = with_agent(
      with_name(
          add("login",
              "Log in to a server: prints the page to visit and waits for the browser, or for "
              "the address it ended at on stdin",
              "reef mcp login issues -a reef")),
      "Agent (default: the daemon's)");
  o.logout = with_agent(
      with_name(add("logout", "Forget the login to a server", "reef mcp logout issues -a reef")),
      "Agent (default: the daemon's)");
  o.watch = add("watch", "Print what happens to servers, until interrupted", "reef mcp watch");
}

Result<json::object> McpCommands::server() const {
  const auto& o = options_;
  json::object out{{"name", o.name}};
  if (!o.url.empty()) out["url"] = o.url;
  if (!o.auth.empty()) {
    REEF_TRY(out["auth"], read_secret(o.auth, "auth"));
    if (o.auth != "-") warn_of_open_secret(o.auth, "--auth");
  }
  if (!o.cwd.empty()) out["cwd"] = o.cwd;
  if (o.timeout > 0) out["timeout"] = o.timeout;
  REEF_TRY(auto env, pairs_from(o.env, '=', "--env", Alone::variable));
  if (!env.empty()) out["env"] = std::move(env);
  REEF_TRY(auto oauth, oauth_from(o.oauth));
  if (!oauth.empty()) out["oauth"] = std::move(oauth);
  REEF_TRY(auto headers, pairs_from(o.headers, ':', "--header", Alone::secret));
  if (!headers.empty()) out["headers"] = std::move(headers);
  if (!o.command.empty()) {
    out["command"] = o.command.front();
    json::array args;
    for (std::size_t i = 1; i < o.command.size(); ++i) args.push_back(json::value(o.command[i]));
    if (!args.empty()) out["args"] = std::move(args);
  }
  return out;
}

int McpCommands::run(const Context& context) const {
  const auto& o = options_;
  const std::string owner = o.agent.empty() ? "reef" : o.agent;
  if (o.ls->parsed())
    return with_client(context, "mcp ls", Start::if_needed,
                       [&](Client& client) { return ls(context, client, o.agent); });
  if (o.watch->parsed())
    return with_client(context, "mcp watch", Start::if_needed,
                       [&](Client& client) { return watch(context, client); });
  if (o.login->parsed())
    return with_client(context, "mcp login", Start::if_needed,
                       [&](Client& client) { return mcp_login(context, client, o.agent, o.name); });
  if (o.logout->parsed())
    return with_client(context, "mcp logout", Start::if_needed, [&](Client& client) {
      return mcp_logout(context, client, o.agent, o.name);
    });
  if (o.rm->parsed())
    return with_client(context, "mcp rm", Start::if_needed,
                       [&](Client& client) { return rm(context, client, owner, o.name); });
  const auto given = server();
  if (!given) return report(o.add->parsed() ? "mcp add" : "mcp test", given.error());
  if (o.add->parsed())
    return with_client(context, "mcp add", Start::if_needed,
                       [&](Client& client) { return add(context, client, owner, *given); });
  protocol::ClientMessage message;
  auto& request = *message.mutable_test_mcp();
  request.set_agent(o.agent);
  if (o.url.empty() && o.command.empty()) {
    request.set_name(o.name);
  } else {
    request.set_config(json::write(*given));
  }
  return with_client(context, "mcp test", Start::if_needed,
                     [&](Client& client) { return test(context, client, message); });
}

std::unique_ptr<CommandGroup> mcp_commands(CLI::App& app, bool& json) {
  return std::make_unique<McpCommands>(app, json);
}

}  // namespace reef::cli
