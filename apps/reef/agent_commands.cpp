#include <algorithm>
#include <charconv>
#include <cstdio>
#include <iostream>
#include <iterator>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/files.h"
#include "base/utf8.h"
#include "base/visible.h"
#include "command_rows.h"

namespace reef::cli {

class AgentCommands final : public CommandGroup {
 public:
  AgentCommands(CLI::App& app, bool& json);
  bool parsed() const override;
  int run(const Context& context) const override;

 private:
  struct Options {
    CLI::App* group = nullptr;
    CLI::App *ls = nullptr, *show = nullptr, *create = nullptr, *set = nullptr, *rename = nullptr,
             *rm = nullptr;
    std::string name, to, config;
    std::vector<std::string> fields;
    std::optional<std::string> prompt;
    std::string prompt_file;
  };
  Options options_;
};

namespace {

using client::Client;
using protocol::AgentInfo;

// A rename changes the history, session by session.
constexpr std::chrono::milliseconds kChangeMax{600'000};

json::array list_of(const google::protobuf::RepeatedPtrField<std::string>& texts) {
  json::array out;
  for (const auto& text : texts) out.emplace_back(text);
  return out;
}

json::object to_json(const AgentInfo& agent) {
  const auto config = json::parse(agent.config());
  return json::object{{"name", agent.name()},
                      {"description", agent.description()},
                      {"model", agent.model()},
                      {"maxIterations", agent.max_iterations()},
                      {"thinking", agent.thinking()},
                      {"tools", list_of(agent.tools())},
                      {"skills", list_of(agent.skills())},
                      {"mcps", list_of(agent.mcps())},
                      {"config", config ? *config : json::value(json::object())}};
}

Task<Result<protocol::ServerMessage>> ask(Client& client, protocol::ClientMessage message) {
  return client.request(std::move(message), Client::Repeat::never, kChangeMax);
}

Task<Status> list(const Context& context, Client& client) {
  protocol::ClientMessage message;
  message.mutable_list_agents();
  REEF_CO_TRY(const auto answer,
              co_await client.request(std::move(message), Client::Repeat::safe, kAnswerMax));
  const auto& agents = answer.agent_list().agents();
  if (context.json) {
    json::array out;
    for (const auto& agent : agents) out.push_back(to_json(agent));
    print_json(out);
    co_return Ok{};
  }
  std::size_t name_width = 5, model_width = 5;
  for (const auto& agent : agents) {
    name_width = std::max(name_width, shown(agent.name()).size());
    model_width = std::max(model_width, shown(agent.model()).size());
  }
  for (const auto& agent : agents)
    print_line(fmt::format("{:<{}}  {:<{}}  {}", shown(agent.name()), name_width,
                           shown(agent.model()), model_width, shown(agent.description())));
  co_return Ok{};
}

void print_agent(const Context& context, const AgentInfo& agent) {
  if (context.json) {
    auto out = to_json(agent);
    out["prompt"] = agent.prompt();
    print_json(out);
    return;
  }
  print_line(fmt::format("name         {}", shown(agent.name())));
  print_line(fmt::format("description  {}", shown(agent.description())));
  print_line(fmt::format("model        {}", shown(agent.model())));
  const auto names = [](std::string_view what, const auto& list) {
    if (list.size() > 0)
      print_line(fmt::format("{:<12} {}", what, shown(fmt::format("{}", fmt::join(list, ", ")))));
  };
  names("tools", agent.tools());
  names("skills", agent.skills());
  names("mcps", agent.mcps());
  if (const auto config = json::parse(agent.config()); config && config->is_object())
    for (const auto& [key, value] : config->get_object()) {
      const std::string_view known[] = {"description", "model", "tools", "skills", "mcps"};
      if (std::find(std::begin(known), std::end(known), std::string_view(key)) != std::end(known))
        continue;
      print_line(fmt::format("{:<12} {}", shown(key), shown(json::write(value))));
    }
  if (agent.prompt().empty()) return;
  print_line("");
  print_line(utf8::visible(agent.prompt()));
}

Task<Status> show(const Context& context, Client& client, std::string name) {
  protocol::ClientMessage message;
  message.mutable_get_agent()->set_name(name);
  REEF_CO_TRY(const auto answer,
              co_await client.request(std::move(message), Client::Repeat::safe, kAnswerMax));
  print_agent(context, answer.agent_info());
  co_return Ok{};
}

// Sends a create, update or rename and shows the resulting agent.
Task<Status> change(const Context& context, Client& client, protocol::ClientMessage message,
                    std::string said) {
  REEF_CO_TRY(const auto answer, co_await ask(client, std::move(message)));
  if (context.json) {
    print_agent(context, answer.agent_info());
  } else {
    print_line(said);
  }
  co_return Ok{};
}

Task<Status> remove(const Context& context, Client& client, std::string name) {
  protocol::ClientMessage message;
  message.mutable_delete_agent()->set_name(name);
  REEF_CO_TRY(const auto answer, co_await ask(client, std::move(message)));
  static_cast<void>(answer);
  if (context.json) {
    print_json(json::object{{"ok", true}});
  } else {
    print_line(fmt::format(
        "{} removed; its sessions and memory stay, its files are in agents/removed/", shown(name)));
  }
  co_return Ok{};
}

// Reads a value as a person writes it after `=`.
Result<json::value> value_from(std::string_view key, const std::string& text) {
  constexpr std::string_view kTexts[] = {"description", "model",           "search",
                                         "thinking",    "permission_mode", "remote_permission_mode",
                                         "prompt"};
  constexpr std::string_view kLists[] = {"tools",  "skills",   "mcps",       "fallback",
                                         "models", "pass_env", "delegate_to"};
  const auto is_one = [&](const auto& names) {
    return std::find(std::begin(names), std::end(names), key) != std::end(names);
  };
  if (text.empty()) return json::value(nullptr);
  if (is_one(kTexts)) return json::value(text);
  if (text.front() == '[' || text.front() == '{') return json::parse(text);
  if (is_one(kLists)) {
    json::array out;
    for (std::string_view rest = text; !rest.empty();) {
      const auto end = std::min(rest.find(','), rest.size());
      if (const auto item = utf8::single_line(rest.substr(0, end)); !item.empty())
        out.emplace_back(item);
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return json::value(std::move(out));
  }
  if (text == "true" || text == "false") return json::value(text == "true");
  const auto* const end = text.data() + text.size();
  std::int64_t whole = 0;
  if (const auto read = std::from_chars(text.data(), end, whole);
      read.ec == std::errc() && read.ptr == end)
    return json::value(whole);
  double number = 0;
  if (const auto read = std::from_chars(text.data(), end, number);
      read.ec == std::errc() && read.ptr == end)
    return json::value(number);
  return json::value(text);
}

// Reads KEY=VALUE, or TABLE.KEY=VALUE.
Result<json::object> patch_from(const std::vector<std::string>& fields) {
  json::object patch;
  for (const auto& field : fields) {
    const auto equals = field.find('=');
    if (equals == std::string::npos || equals == 0)
      return Error(Errc::invalid, fmt::format("'{}' is not KEY=VALUE", utf8::excerpt(field)));
    auto key = std::string_view(field).substr(0, equals);
    auto value = value_from(key, field.substr(equals + 1));
    if (!value) return std::move(value).error().with(key);
    auto* table = &patch;
    for (auto dot = key.find('.'); dot != std::string_view::npos; dot = key.find('.')) {
      auto& inner = (*table)[key.substr(0, dot)];
      if (!inner.is_object()) inner.emplace_object();
      table = &inner.get_object();
      key.remove_prefix(dot + 1);
    }
    (*table)[key] = *std::move(value);
  }
  return patch;
}

Result<std::string> read_text(const std::string& path) {
  if (path == "-")
    return std::string(std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>());
  PosixFiles files;
  return read_all(files, path);
}

}  // namespace

AgentCommands::AgentCommands(CLI::App& app, bool& json) {
  auto& o = options_;
  const auto add = [&](CLI::App& parent, const char* name, const char* what,
                       const std::string& example) {
    return add_command(parent, json, name, what, example);
  };
  o.group = add(app, "agents", "Who answers: list, show, create, change, rename, remove",
                "reef agents\n  reef agents create scout model=local tools=recall,search_sessions");
  o.group->require_subcommand(0, 1);
  o.ls = add(*o.group, "ls", "List agents", "reef agents ls --json");
  o.show = add(*o.group, "show", "One agent, with its prompt", "reef agents show scout");
  o.create = add(*o.group, "create", "Make an agent",
                 "reef agents create scout 'description=Looks things up' --prompt-file scout.md");
  o.set = add(*o.group, "set", "Change an agent; an empty value removes a setting",
              "reef agents set scout tools=recall max_iterations=8\n"
              "  reef agents set scout parameters.temperature=0.2 --prompt 'Be brief.'");
  o.rename = add(*o.group, "rename", "Give an agent a new name; its history follows",
                 "reef agents rename scout ranger");
  o.rm = add(*o.group, "rm", "Remove an agent; what was said stays", "reef agents rm scout");
  for (auto* command : {o.show, o.create, o.set, o.rename, o.rm})
    command->add_option("NAME", o.name, "Of the agent")->required();
  o.rename->add_option("NEW", o.to, "Its new name")->required();
  for (auto* command : {o.create, o.set}) {
    command->add_option("KEY=VALUE", o.fields, "Settings, as in agents/NAME.toml");
    command->add_option("--config", o.config, "A file with settings, TOML or JSON; - is stdin")
        ->type_name("FILE");
    command->add_option("--prompt", o.prompt, "Its prompt; '' takes it away")->type_name("TEXT");
    command->add_option("--prompt-file", o.prompt_file, "The same from a file; - is stdin")
        ->type_name("FILE");
  }
}

bool AgentCommands::parsed() const {
  return options_.group->parsed();
}

int AgentCommands::run(const Context& context) const {
  const auto& o = options_;
  const auto with = [&](const std::function<Task<Status>(Client&)>& body) {
    return with_client(context, "agents", Start::if_needed, body);
  };
  for (const auto* text : {&o.name, &o.to})
    if (!utf8::valid(*text)) {
      report("agents", Error(Errc::invalid, "a name must be UTF-8"));
      return 2;
    }
  if (o.show->parsed()) return with([&](Client& c) { return show(context, c, o.name); });
  if (o.rm->parsed()) return with([&](Client& c) { return remove(context, c, o.name); });
  if (o.rename->parsed()) {
    protocol::ClientMessage message;
    message.mutable_rename_agent()->set_old_name(o.name);
    message.mutable_rename_agent()->set_new_name(o.to);
    const auto said = fmt::format("{} is {} now", shown(o.name), shown(o.to));
    return with([&](Client& c) { return change(context, c, message, said); });
  }
  if (!o.create->parsed() && !o.set->parsed())
    return with([&](Client& c) { return list(context, c); });

  const auto refuse = [](const Error& error) {
    report("agents", error);
    return 2;
  };
  if (!o.config.empty() && !o.fields.empty())
    return refuse(Error(Errc::invalid, "either --config or KEY=VALUE"));
  if (o.prompt && !o.prompt_file.empty())
    return refuse(Error(Errc::invalid, "either --prompt or --prompt-file"));
  std::string config;
  if (!o.config.empty()) {
    auto text = read_text(o.config);
    if (!text) return refuse(text.error());
    config = *std::move(text);
  }
  auto patch = patch_from(o.fields);
  if (!patch) return refuse(patch.error());
  auto prompt = o.prompt.value_or("");
  if (!o.prompt_file.empty()) {
    auto text = read_text(o.prompt_file);
    if (!text) return refuse(text.error());
    prompt = *std::move(text);
  }
  // In a request an empty prompt leaves the old one; in the patch null removes it.
  if (o.prompt && o.prompt->empty() && config.empty()) (*patch)["prompt"] = nullptr;
  if (!patch->empty()) config = json::write(*patch);
  if (!utf8::valid(config) || !utf8::valid(prompt))
    return refuse(Error(Errc::invalid, "settings and prompt must be UTF-8"));
  protocol::ClientMessage message;
  if (o.create->parsed()) {
    message.mutable_create_agent()->set_name(o.name);
    message.mutable_create_agent()->set_config(config);
    message.mutable_create_agent()->set_prompt(prompt);
    return with([&](Client& c) { return change(context, c, message, shown(o.name) + " created"); });
  }
  message.mutable_update_agent()->set_name(o.name);
  message.mutable_update_agent()->set_config(config);
  message.mutable_update_agent()->set_prompt(prompt);
  return with([&](Client& c) { return change(context, c, message, shown(o.name) + " changed"); });
}

std::unique_ptr<CommandGroup> agent_commands(CLI::App& app, bool& json) {
  return std::make_unique<AgentCommands>(app, json);
}

}  // namespace reef::cli
