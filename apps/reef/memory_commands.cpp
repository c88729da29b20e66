#include <cstdio>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/files.h"
#include "base/random.h"
#include "base/utf8.h"
#include "base/visible.h"
#include "command_rows.h"
#include "memory/dump.h"
#include "memory/operations.h"

namespace reef::cli {

class MemoryCommands final : public CommandGroup {
 public:
  MemoryCommands(CLI::App& app, bool& json);
  bool parsed() const override;
  int run(const Context& context) const override;

 private:
  struct Options {
    CLI::App* group = nullptr;
    CLI::App *ls = nullptr, *show = nullptr, *recall = nullptr, *remember = nullptr,
             *forget = nullptr, *rename = nullptr, *alias = nullptr, *dump = nullptr,
             *load = nullptr;
    std::string agent, kind, name, to, folder;
    std::optional<std::string> content;
    std::vector<std::string> words, aliases;
    std::uint32_t limit = 0;
    bool remove = false;
  };
  Options options_;
};

namespace {

std::string age_of(const protocol::MemoryEntry& entry) {
  const auto now = SystemClock().now();
  return short_age(parse_iso(entry.created_at()).value_or(now), now);
}

std::string aliases_of(const protocol::MemoryEntry& entry) {
  std::string out;
  for (const auto& alias : entry.aliases()) out += (out.empty() ? "" : ", ") + shown(alias);
  return out;
}

json::object to_json(const protocol::MemoryEntry& entry) {
  json::array aliases;
  for (const auto& alias : entry.aliases()) aliases.emplace_back(alias);
  return json::object{{"id", entry.id()},
                      {"name", entry.name()},
                      {"kind", entry.kind()},
                      {"aliases", std::move(aliases)},
                      {"createdAt", entry.created_at()},
                      {"bytes", entry.bytes()}};
}

json::object with_content(const protocol::MemoryEntry& entry) {
  auto out = to_json(entry);
  out["content"] = entry.content();
  return out;
}

Task<Status> list(const Context& context, client::Client& client, protocol::ClientMessage message) {
  REEF_CO_TRY(const auto found, co_await client.memories(std::move(message)));
  if (context.json) {
    json::array out;
    for (const auto& entry : found.entries()) {
      auto object = to_json(entry);
      object["preview"] = entry.preview();
      out.emplace_back(std::move(object));
    }
    print_json(out);
    co_return Ok{};
  }
  if (found.entries().empty())
    print_line(
        fmt::format("{} remembers nothing; reef memory remember NAME TEXT", shown(found.agent())));
  for (const auto& entry : found.entries()) {
    auto line = fmt::format("{}  {}, {} ago", shown(entry.name()), entry.kind(), age_of(entry));
    if (entry.aliases_size() > 0) line += fmt::format(", also {}", aliases_of(entry));
    print_line(fmt::format("{}: {}", line, utf8::prefix_chars(shown(entry.preview()), 60)));
  }
  co_return Ok{};
}

void print_entry(const Context& context, const protocol::MemoryEntry& entry,
                 std::string_view note) {
  const auto bold = context.color() ? "\x1b[1m" : "";
  const auto plain = context.color() ? "\x1b[0m" : "";
  auto head = fmt::format("{}{}{} ({}, {} ago", bold, shown(entry.name()), plain, entry.kind(),
                          age_of(entry));
  if (entry.aliases_size() > 0) head += ", also " + aliases_of(entry);
  print_line(fmt::format("{}{})", head, note));
}

Task<Status> recall(const Context& context, client::Client& client,
                    protocol::ClientMessage message) {
  constexpr std::size_t kShownChars = 600;
  REEF_CO_TRY(const auto found, co_await client.memories(std::move(message)));
  if (context.json) {
    json::array out;
    for (const auto& entry : found.entries()) {
      auto object = with_content(entry);
      object["score"] = entry.score();
      out.emplace_back(std::move(object));
    }
    print_json(out);
    co_return Ok{};
  }
  if (found.entries().empty()) print_line("nothing found");
  for (const auto& entry : found.entries()) {
    print_entry(context, entry, fmt::format(", score {:.2f}", entry.score()));
    const auto content = utf8::visible(entry.content());
    const auto head = utf8::prefix_chars(content, kShownChars);
    print_line(head);
    if (head.size() < content.size())
      print_line(fmt::format("... reef memory show '{}' has all of it", shown(entry.name())));
    print_line("");
  }
  co_return Ok{};
}

Task<Status> show(const Context& context, client::Client& client, protocol::ClientMessage message) {
  REEF_CO_TRY(const auto entry, co_await client.memory_entry(std::move(message)));
  if (context.json) {
    print_json(with_content(entry));
  } else {
    print_entry(context, entry, "");
    print_line(utf8::visible(entry.content()));
  }
  co_return Ok{};
}

// Sends a request that is answered with an entry; `said` is printed for a person, with the entry's
// name in it.
Task<Status> change(const Context& context, client::Client& client, protocol::ClientMessage message,
                    std::string said) {
  REEF_CO_TRY(const auto entry, co_await client.memory_entry(std::move(message)));
  if (context.json) {
    print_json(with_content(entry));
  } else {
    print_line(fmt::format(fmt::runtime(said), shown(entry.name())));
  }
  co_return Ok{};
}

Task<Status> forget(const Context& context, client::Client& client,
                    protocol::ClientMessage message) {
  auto said = "forgot: " + shown(message.forget().name());
  return expect_pong(context, client, std::move(message), std::move(said));
}

Task<Status> dump(const Context& context, client::Client& client, std::string agent,
                  std::string folder) {
  REEF_CO_TRY(const auto bytes, co_await client.read_memory(std::move(agent)));
  REEF_CO_TRY(const auto contents, memory::parse(bytes));
  PosixFiles files;
  REEF_CO_CHECK(memory::write_tree(files, folder, contents));
  if (context.json) {
    print_json(
        json::object{{"folder", utf8::sanitize(folder)}, {"entries", contents.entries.size()}});
  } else {
    print_line(fmt::format("{} entries written; mdbook serve '{}' shows them",
                           contents.entries.size(), shown(folder)));
  }
  co_return Ok{};
}

Task<Status> load(const Context& context, client::Client& client, std::string agent,
                  std::string folder) {
  constexpr std::size_t kNameDigits = 32;
  PosixFiles files;
  REEF_CO_TRY(const auto tree, memory::read_tree(files, folder));
  const auto now =
      std::chrono::duration_cast<std::chrono::seconds>(SystemClock().now().time_since_epoch());
  REEF_CO_TRY(const auto contents,
              memory::from_tree(tree, static_cast<std::uint64_t>(now.count())));
  REEF_CO_TRY(auto bytes, memory::serialize(contents));
  SystemRandom random;
  REEF_CO_TRY(const auto entries, co_await client.load_memory(
                                      std::move(agent), random.hex(kNameDigits), std::move(bytes)));
  if (context.json) {
    print_json(json::object{{"folder", utf8::sanitize(folder)}, {"entries", entries}});
  } else {
    print_line(
        fmt::format("{} entries loaded; what was there before is kept beside, as .old", entries));
  }
  co_return Ok{};
}

// A request can only hold valid UTF-8.
Status check_text(const std::vector<std::string>& texts) {
  for (const auto& text : texts)
    if (!utf8::valid(text))
      return Error(Errc::invalid, fmt::format("'{}' is not valid UTF-8", utf8::excerpt(text)));
  return Ok{};
}

// The given text, or standard input without its last newline.
Result<std::string> content_from(const std::optional<std::string>& given) {
  if (given && *given != "-") return *given;
  if (!given && ::isatty(STDIN_FILENO) == 1)
    return Error(Errc::invalid, "no text: give it as an argument or on standard input");
  std::string text;
  char buffer[64U << 10];
  while (const auto got = std::fread(buffer, 1, sizeof buffer, stdin)) {
    text.append(buffer, got);
    if (text.size() > memory::kContentBytesMax + 1) break;
  }
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace

MemoryCommands::MemoryCommands(CLI::App& app, bool& json) {
  auto& o = options_;
  o.group = app.add_subcommand("memory", "What agents remember");
  o.group->require_subcommand(1);
  o.group->footer(
      "Examples:\n"
      "  reef memory remember deploy-key 'in the blue vault' --alias vault\n"
      "  reef memory recall where is the deploy key\n"
      "  reef memory dump brain && mdbook serve brain\n");
  const auto add = [&](const char* name, const char* what, const std::string& example) {
    auto* command = add_command(*o.group, json, name, what, example);
    command->add_option("-a,--agent", o.agent, "Agent (default: the daemon's)")->type_name("AGENT");
    return command;
  };
  const auto with_name = [&](CLI::App* command) {
    command->add_option("NAME", o.name, "Name or alias of the entry")->required();
    return command;
  };
  o.ls = add("ls", "List what is remembered, oldest first", "reef memory ls -a reef --kind note");
  o.ls->add_option("--kind", o.kind, "note, archive or topic only")->type_name("KIND");
  o.show = with_name(add("show", "Print an entry", "reef memory show deploy-key"));
  o.recall = add("recall", "Find entries by words, best first",
                 "reef memory recall where is the deploy key --limit 3");
  o.recall->add_option("QUERY", o.words, "What to look for")->required();
  o.recall->add_option("--limit", o.limit, "At most so many (default 5)");
  o.remember = with_name(add("remember", "Keep a note, or give an old one a new text",
                             "reef memory remember deploy-key 'in the blue vault' --alias vault"));
  o.remember->add_option("TEXT", o.content, "The note; without it or with - standard input");
  o.remember->add_option("--alias", o.aliases, "Another name for it (again for more)")
      ->type_name("ALIAS")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  o.forget = with_name(add("forget", "Remove a note", "reef memory forget deploy-key"));
  o.rename =
      with_name(add("rename", "Give an entry another name", "reef memory rename deploy-key vault"));
  o.rename->add_option("TO", o.to, "The new name")->required();
  o.alias = with_name(
      add("alias", "Give an entry more names", "reef memory alias deploy-key vault 'ssh key'"));
  o.alias->add_option("ALIAS", o.aliases, "Another name for it")->required();
  o.alias->add_flag("--remove", o.remove, "Take these aliases away instead");
  o.dump = add("dump", "Write all of it as Markdown files for mdBook", "reef memory dump brain");
  o.dump->add_option("DIR", o.folder, "Folder of the files; made when missing")->required();
  o.load = add("load", "Replace all of it by the files of a dump", "reef memory load brain");
  o.load->add_option("DIR", o.folder, "Folder a dump made")->required();
}

bool MemoryCommands::parsed() const {
  return options_.group->parsed();
}

int MemoryCommands::run(const Context& context) const {
  const auto& o = options_;
  const auto ask = [&](std::string_view command,
                       const std::function<Task<Status>(client::Client&)>& body) {
    return with_client(context, fmt::format("memory {}", command), Start::if_needed, body);
  };
  std::vector<std::string> texts{o.agent, o.kind, o.name, o.to};
  texts.insert(texts.end(), o.aliases.begin(), o.aliases.end());
  if (const auto valid = check_text(texts); !valid) {
    report("memory", valid.error());
    return 2;
  }
  protocol::ClientMessage message;
  if (o.ls->parsed()) {
    message.mutable_list_memories()->set_agent(o.agent);
    message.mutable_list_memories()->set_kind(o.kind);
    return ask("ls", [&](client::Client& client) { return list(context, client, message); });
  }
  if (o.show->parsed()) {
    message.mutable_get_memory()->set_agent(o.agent);
    message.mutable_get_memory()->set_name(o.name);
    return ask("show", [&](client::Client& client) { return show(context, client, message); });
  }
  if (o.recall->parsed()) {
    auto& request = *message.mutable_recall();
    request.set_agent(o.agent);
    request.set_limit(o.limit);
    for (const auto& word : o.words)
      request.set_query(request.query() + (request.query().empty() ? "" : " ") +
                        utf8::sanitize(word));
    return ask("recall", [&](client::Client& client) { return recall(context, client, message); });
  }
  if (o.remember->parsed()) {
    auto content = content_from(o.content);
    if (!content) {
      report("memory remember", content.error());
      return 2;
    }
    auto& request = *message.mutable_remember();
    request.set_agent(o.agent);
    request.set_name(o.name);
    request.set_content(utf8::sanitize(*content));
    for (const auto& alias : o.aliases) request.add_aliases(alias);
    return ask("remember", [&](client::Client& client) {
      return change(context, client, message, "remembered: {}");
    });
  }
  if (o.forget->parsed()) {
    message.mutable_forget()->set_agent(o.agent);
    message.mutable_forget()->set_name(o.name);
    return ask("forget", [&](client::Client& client) { return forget(context, client, message); });
  }
  if (o.rename->parsed()) {
    auto& request = *message.mutable_rename_memory();
    request.set_agent(o.agent);
    request.set_name(o.name);
    request.set_to(o.to);
    return ask("rename", [&](client::Client& client) {
      return change(context, client, message, "renamed to: {}");
    });
  }
  if (o.alias->parsed()) {
    auto& request = *message.mutable_alias_memory();
    request.set_agent(o.agent);
    request.set_name(o.name);
    for (const auto& alias : o.aliases)
      (o.remove ? request.add_remove() : request.add_add())->assign(alias);
    return ask("alias", [&](client::Client& client) {
      return change(context, client, message, "changed: {}");
    });
  }
  if (o.dump->parsed())
    return ask("dump",
               [&](client::Client& client) { return dump(context, client, o.agent, o.folder); });
  return ask("load",
             [&](client::Client& client) { return load(context, client, o.agent, o.folder); });
}

std::unique_ptr<CommandGroup> memory_commands(CLI::App& app, bool& json) {
  return std::make_unique<MemoryCommands>(app, json);
}

}  // namespace reef::cli
