#include <cstdio>
#include <filesystem>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/utf8.h"
#include "base/visible.h"
#include "command_group.h"
#include "skills/skills.h"

namespace reef::cli {

class SkillCommands final : public CommandGroup {
 public:
  SkillCommands(CLI::App& app, bool& json);
  bool parsed() const override;
  int run(const Context& context) const override;

 private:
  struct Options {
    CLI::App *group = nullptr, *ls = nullptr, *show = nullptr, *check = nullptr;
    std::string agent, name, file;
    std::vector<std::string> folders;
  };
  Options options_;
};

namespace {

using Repeat = client::Client::Repeat;
using protocol::SkillInfo;

template <class Texts>
json::array list_of(const Texts& texts) {
  json::array out;
  for (const auto& text : texts) out.emplace_back(std::string_view(text));
  return out;
}

json::object to_json(const SkillInfo& skill) {
  return json::object{{"name", skill.name()},
                      {"description", skill.description()},
                      {"path", skill.path()},
                      {"source", skill.source()},
                      {"warnings", list_of(skill.warnings())}};
}

Task<Result<protocol::SkillList>> fetch(client::Client& client, std::string agent) {
  protocol::ClientMessage message;
  message.mutable_list_skills()->set_agent(std::move(agent));
  REEF_CO_TRY(auto answer, co_await client.request(std::move(message), Repeat::safe, kAnswerMax));
  co_return std::move(*answer.mutable_skill_list());
}

Task<Status> list(const Context& context, client::Client& client, std::string agent) {
  REEF_CO_TRY(const auto all, co_await fetch(client, std::move(agent)));
  if (context.json) {
    json::array out;
    for (const auto& skill : all.skills()) out.push_back(to_json(skill));
    print_json(out);
    co_return Ok{};
  }
  if (all.skills().empty())
    print_line("no skills; a folder with a SKILL.md below " + shown(context.home.skills()) +
               " is one");
  int troubled = all.problems_size();
  for (const auto& skill : all.skills()) {
    print_line(fmt::format("{}  {}", shown(skill.name()), utf8::excerpt(skill.description(), 200)));
    troubled += skill.warnings_size() > 0 ? 1 : 0;
  }
  if (troubled > 0)
    std::fprintf(stderr,
                 "reef: skills: something is wrong with %d of them; `reef skills check` "
                 "tells what\n",
                 troubled);
  co_return Ok{};
}

Task<Status> show(const Context& context, client::Client& client, std::string name,
                  std::string agent, std::string file) {
  protocol::ClientMessage message;
  auto& request = *message.mutable_read_skill();
  request.set_name(std::move(name));
  request.set_agent(std::move(agent));
  request.set_file(file);
  REEF_CO_TRY(const auto answer,
              co_await client.request(std::move(message), Repeat::safe, kAnswerMax));
  const auto& data = answer.skill_data();
  if (context.json) {
    auto out = to_json(data.skill());
    out["content"] = data.content();
    out["files"] = list_of(data.files());
    print_json(out);
    co_return Ok{};
  }
  if (file.empty()) {
    print_line(
        fmt::format("{}: {}", shown(data.skill().name()), shown(data.skill().description())));
    print_line(shown(data.skill().path()));
    for (const auto& path : data.files()) print_line("  " + shown(path));
    for (const auto& warning : data.skill().warnings()) print_line("warning: " + shown(warning));
    print_line("");
  }
  auto text = utf8::visible(data.content());
  while (text.ends_with('\n')) text.pop_back();
  print_line(text);
  co_return Ok{};
}

// The problems, one a line; none when all is well.
struct Verdict {
  std::size_t skills = 0;
  std::vector<std::string> lines;
};

int tell(const Context& context, const Verdict& verdict) {
  if (context.json) {
    print_json(json::object{{"skills", verdict.skills}, {"problems", list_of(verdict.lines)}});
  } else {
    for (const auto& line : verdict.lines) print_line(shown(line));
    if (verdict.lines.empty()) print_line(fmt::format("{} skill(s), all good", verdict.skills));
  }
  return verdict.lines.empty() ? 0 : 1;
}

void add(Verdict& verdict, const skills::Catalogue& catalogue) {
  verdict.skills += catalogue.skills.size();
  for (const auto& found : catalogue.skills)
    for (const auto& warning : found.skill.warnings)
      verdict.lines.push_back(found.file + ": " + warning);
  for (const auto& problem : catalogue.problems) verdict.lines.push_back(problem);
}

// Checks folders without the daemon, before they become skills of its own.
Verdict check_folders(const std::vector<std::string>& folders) {
  Verdict verdict;
  PosixFiles files;
  skills::Shelf shelf(files);
  for (const auto& folder : folders) {
    std::error_code failed;
    const auto path = std::filesystem::absolute(folder, failed);
    const auto catalogue = shelf.look({path.string()});
    add(verdict, catalogue);
    if (catalogue.skills.empty() && catalogue.problems.empty())
      verdict.lines.push_back(folder + ": there is no SKILL.md in it");
  }
  return verdict;
}

Task<Status> check_all(client::Client& client, Verdict& verdict) {
  REEF_CO_TRY(const auto all, co_await fetch(client, std::string()));
  verdict.skills = static_cast<std::size_t>(all.skills_size());
  for (const auto& skill : all.skills())
    for (const auto& warning : skill.warnings())
      verdict.lines.push_back(skill.path() + ": " + warning);
  for (const auto& problem : all.problems()) verdict.lines.push_back(problem);
  co_return Ok{};
}

}  // namespace

SkillCommands::SkillCommands(CLI::App& app, bool& json) {
  auto& o = options_;
  o.group = app.add_subcommand("skills", "Skills of the agents: folders with a SKILL.md");
  o.group->require_subcommand(0, 1);
  o.group->footer(
      "Examples:\n  reef skills\n  reef skills show check-feeds\n"
      "  reef skills check ./my-skill\n");
  const auto flag = [&](CLI::App* command) {
    command->add_flag("--json", json, "Print JSON (docs/cli.md tells the shape)");
    return command;
  };
  flag(o.group);
  o.ls = flag(o.group->add_subcommand("ls", "List them; the default"));
  o.show = flag(o.group->add_subcommand("show", "What a skill says, or a file bundled with it"));
  o.check =
      flag(o.group->add_subcommand("check", "What is wrong with skills; exit 1 when something is"));
  for (auto* command : {o.group, o.ls, o.show})
    command->add_option("-a,--agent", o.agent, "Only what is in the scope of this agent")
        ->type_name("AGENT");
  o.show->add_option("NAME", o.name, "From `reef skills`")->required();
  o.show->add_option("FILE", o.file, "Bundled with it");
  o.show->footer(
      "Examples:\n  reef skills show check-feeds\n"
      "  reef skills show check-feeds scripts/fetch.py\n");
  o.check->add_option("FOLDER", o.folders,
                      "A skill, or a folder with skills; without: all the daemon knows");
  o.check->footer("Example:\n  reef skills check ./my-skill && cp -r my-skill ~/.reef/skills/\n");
}

bool SkillCommands::parsed() const {
  return options_.group->parsed();
}

int SkillCommands::run(const Context& context) const {
  const auto& o = options_;
  for (const auto* text : {&o.agent, &o.name, &o.file})
    if (!utf8::valid(*text)) {
      report("skills", Error(Errc::invalid, "a name must be UTF-8"));
      return 2;
    }
  if (o.check->parsed()) {
    if (!o.folders.empty()) return tell(context, check_folders(o.folders));
    Verdict verdict;
    const auto code = with_client(context, "skills", Start::if_needed, [&](client::Client& client) {
      return check_all(client, verdict);
    });
    return code == 0 ? tell(context, verdict) : code;
  }
  return with_client(context, "skills", Start::if_needed, [&](client::Client& client) {
    return o.show->parsed() ? show(context, client, o.name, o.agent, o.file)
                            : list(context, client, o.agent);
  });
}

std::unique_ptr<CommandGroup> skill_commands(CLI::App& app, bool& json) {
  return std::make_unique<SkillCommands>(app, json);
}

}  // namespace reef::cli
