// `reef context`, `reef title`, `reef archives`: what fills a window, what it is about, and what
// was summarised away.

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/utf8.h"
#include "base/visible.h"
#include "command_rows.h"
#include "session_view.h"

namespace reef::cli {

class ContextCommands final : public CommandGroup {
 public:
  ContextCommands(CLI::App& app, bool& json);
  bool parsed() const override;
  int run(const Context& context) const override;

 private:
  CLI::App *context_ = nullptr, *title_ = nullptr, *archives_ = nullptr, *archives_show_ = nullptr;
  std::string id_, text_, agent_, name_;
  bool keep_ = false;
};

namespace {

Task<Status> list_archives(const Context& context, client::Client& client, std::string agent) {
  protocol::ClientMessage message;
  message.mutable_list_memories()->set_agent(std::move(agent));
  message.mutable_list_memories()->set_kind("archive");
  REEF_CO_TRY(const auto found, co_await client.memories(std::move(message)));
  if (context.json) {
    json::array out;
    for (const auto& entry : found.entries())
      out.push_back(json::object{{"name", entry.name()},
                                 {"createdAt", entry.created_at()},
                                 {"bytes", entry.bytes()},
                                 {"preview", entry.preview()}});
    print_json(out);
    co_return Ok{};
  }
  if (found.entries().empty())
    print_line(fmt::format("{} has no archives: they are made when a session is compacted",
                           shown(found.agent())));
  const auto now = SystemClock().now();
  for (const auto& entry : found.entries())
    print_line(fmt::format("{}  {} ago, {}: {}", shown(entry.name()),
                           short_age(parse_iso(entry.created_at()).value_or(now), now),
                           human_bytes(entry.bytes()),
                           utf8::prefix_chars(shown(entry.preview()), 60)));
  co_return Ok{};
}

Task<Status> show_archive(const Context& context, client::Client& client, std::string agent,
                          std::string name) {
  protocol::ClientMessage message;
  message.mutable_get_memory()->set_agent(std::move(agent));
  message.mutable_get_memory()->set_name(name);
  REEF_CO_TRY(const auto entry, co_await client.memory_entry(std::move(message)));
  if (entry.kind() != "archive")
    co_return Error(Errc::not_found,
                    fmt::format("'{}' is a {}, no archive; reef memory show has it", shown(name),
                                shown(entry.kind())));
  if (context.json)
    print_json(json::object{{"name", entry.name()},
                            {"createdAt", entry.created_at()},
                            {"bytes", entry.bytes()},
                            {"content", entry.content()}});
  else
    print_line(utf8::visible(entry.content()));
  co_return Ok{};
}

}  // namespace

ContextCommands::ContextCommands(CLI::App& app, bool& json) {
  const auto add = [&](CLI::App& to, const char* name, const char* what,
                       const std::string& example) {
    return add_command(to, json, name, what, example);
  };
  context_ = add(app, "context", "What fills the window of a session's model",
                 "reef context 261115-swift-river");
  context_->add_option("ID", id_, "Session id, from `reef sessions`")->required();
  title_ = add(app, "title", "Name a session: by its model, or as you say",
               "reef title 261115-swift-river\n  reef title 261115-swift-river Deploy keys");
  title_->add_option("ID", id_, "Session id, from `reef sessions`")->required();
  title_->add_option_function<std::vector<std::string>>(
      "TEXT",
      [this](const std::vector<std::string>& words) {
        for (const auto& word : words) text_ += (text_.empty() ? "" : " ") + word;
      },
      "The title; without one, three to six words are made of what was said");
  title_->add_flag("--keep", keep_, "Keep the title it has, if any");
  archives_ = add(app, "archives", "Summaries that compactions made, oldest first",
                  "reef archives show 261115-swift-river-1");
  archives_->add_option("-a,--agent", agent_, "Agent (default: the daemon's)")->type_name("AGENT");
  archives_->require_subcommand(0, 1);
  add(*archives_, "ls", "List them; the default", "reef archives ls --json");
  archives_show_ = add(*archives_, "show", "Print one", "reef archives show 261115-swift-river-1");
  archives_show_->add_option("NAME", name_, "From `reef archives`")->required();
  for (auto* command : archives_->get_subcommands({}))
    command->add_option("-a,--agent", agent_, "Agent (default: the daemon's)")->type_name("AGENT");
}

bool ContextCommands::parsed() const {
  return context_->parsed() || title_->parsed() || archives_->parsed();
}

int ContextCommands::run(const Context& context) const {
  for (const auto* text : {&id_, &text_, &agent_, &name_})
    if (!utf8::valid(*text)) {
      report("context", Error(Errc::invalid, "a name must be UTF-8"));
      return 2;
    }
  if (context_->parsed())
    return with_client(context, "context", Start::if_needed,
                       [&](client::Client& client) { return show_window(context, client, id_); });
  if (title_->parsed())
    return with_client(context, "title", Start::if_needed, [&](client::Client& client) {
      return change_title(context, client, id_, text_, !keep_);
    });
  return with_client(context, "archives", Start::if_needed, [&](client::Client& client) {
    return archives_show_->parsed() ? show_archive(context, client, agent_, name_)
                                    : list_archives(context, client, agent_);
  });
}

std::unique_ptr<CommandGroup> context_commands(CLI::App& app, bool& json) {
  return std::make_unique<ContextCommands>(app, json);
}

}  // namespace reef::cli
