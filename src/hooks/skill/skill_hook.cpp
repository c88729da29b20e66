#include "hooks/skill/skill_hook.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/log.h"
#include "base/utf8.h"
#include "hooks/description.h"
#include "runtime/scope.h"
#include "skills/allowed_tools.h"

namespace reef::hooks {
namespace {

using runtime::Agent;
using runtime::ToolAnswer;

// Limits for the list of skills in the prompt.
constexpr std::size_t kListedMax = 200;
constexpr std::size_t kListedBytesMax = 32U << 10;
constexpr std::size_t kDescriptionBytesMax = 1100;

const Description kSkill{
    "skill",
    "Load a skill: instructions for a kind of task. Without a name, or with words that are none, "
    "it lists those that fit.",
    {{.name = "name", .description = "The skill's name; empty lists all."},
     {.name = "file", .description = "A file bundled with the skill, to read it instead."}}};

// Descriptions stand between tags, so they must hold none.
std::string without_tags(std::string_view text) {
  std::string out;
  for (const char c : utf8::prefix(text, kDescriptionBytesMax))
    if (c == '<') {
      out += "&lt;";
    } else {
      out += c;
    }
  return out;
}

std::string line_of(const skills::Found& found) {
  return fmt::format("{}: {}", found.skill.name, without_tags(found.skill.description));
}

// Lists the skills the agent may use, one a line.
template <class Skills>
std::string list_of(const Agent& agent, const Skills& all) {
  std::string out;
  std::size_t listed = 0, left = 0;
  for (const auto& one : all) {
    const skills::Found* found = nullptr;
    if constexpr (std::is_pointer_v<std::decay_t<decltype(one)>>) {
      found = one;
    } else {
      found = &one;
    }
    if (!runtime::may_use_skill(agent, found->skill.name)) continue;
    if (listed >= kListedMax || out.size() > kListedBytesMax) {
      ++left;
      continue;
    }
    ++listed;
    out += (out.empty() ? "" : "\n") + line_of(*found);
  }
  if (left > 0) out += fmt::format("\n[{} more; words in place of a name find them]", left);
  return out;
}

std::string skill_text(const skills::Library::Opened& opened) {
  const auto& skill = opened.found.skill;
  auto out = fmt::format("<skill name=\"{}\" folder=\"{}\">\n{}", skill.name,
                         utf8::single_line(utf8::printable(opened.found.folder)), skill.body);
  if (!out.ends_with('\n')) out += '\n';
  out += "</skill>";
  if (!opened.files.empty())
    out += fmt::format("\nBundled files, to be read with skill(name, file): {}",
                       utf8::printable(fmt::format("{}", fmt::join(opened.files, ", "))));
  if (!skill.allowed_tools.empty())
    out += fmt::format("\nUntil the end of this turn only these tools can be called: {}",
                       fmt::join(skill.allowed_tools, ", "));
  return out;
}

std::string sender_in(const std::string& key) {
  const auto parsed = session::Key::parse(key);
  const auto pair = parsed ? parsed->pair() : std::nullopt;
  return pair ? pair->second : key;
}

// Returns the name in "/name args"; empty when there is none.
std::string_view slash_name(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || text[first] != '/') return {};
  text = text.substr(first + 1);
  const auto name = text.substr(0, text.find_first_of(" \t\r\n"));
  return skills::is_usable_name(name) ? name : std::string_view();
}

}  // namespace

std::vector<model::Tool> SkillHook::tools(const Agent&) const {
  return {tool_from(kSkill)};
}

Task<std::string> SkillHook::instructions(const Agent& agent, const runtime::Place&) const {
  if (!runtime::may_call(agent, runtime::kSkillTool)) co_return std::string();
  const auto catalogue = co_await library_.look();
  const auto list = list_of(agent, catalogue.skills);
  if (list.empty()) co_return std::string();
  co_return fmt::format(
      "<skills>\n"
      "Before a task that one of these fits, load it with the tool skill and do as it says.\n"
      "{}\n"
      "</skills>",
      list);
}

Task<void> SkillHook::preprocess(const Agent& agent, const std::string& key,
                                 runtime::Words& words) {
  const std::string name(slash_name(words.text));
  if (name.empty()) co_return;
  const auto opened = co_await library_.open(name);
  if (!opened) {
    if (opened.error().code != Errc::not_found) log::warn("/{}: {}", name, opened.error().what);
    co_return;
  }
  if (!runtime::may_use_skill(agent, name)) {
    // The conversation may not have a session yet, so none is named.
    log::warn("{}", runtime::security_line({"skill", name, ""}, agent.name, sender_in(key), ""));
    co_return;
  }
  activate(key, opened->found.skill);
  // The user's words stay unchanged; the skill's text follows them as an entry of its own.
  json::object details{{"name", name}, {"file", utf8::sanitize(opened->found.file)}};
  words.beside.push_back(
      session::Draft{"custom_message", json::object{{"customType", "reef.skill"},
                                                    {"content", skill_text(*opened)},
                                                    {"display", false},
                                                    {"details", std::move(details)}}});
}

void SkillHook::activate(const std::string& key, const skills::Skill& skill) {
  if (skill.allowed_tools.empty()) return;
  auto& all = active_[key];
  std::erase_if(all, [&](const Active& one) { return one.name == skill.name; });
  all.push_back(Active{skill.name, skill.allowed_tools});
}

void SkillHook::on_event(const runtime::Scene& scene, const runtime::Event& event) {
  if (std::holds_alternative<runtime::End>(event)) active_.erase(scene.key);
  // The skills that bind a turn also bind the tasks delegated in it.
  const auto parent = active_.find(scene.lineage.parent);
  if (!std::holds_alternative<runtime::Start>(event) || parent == active_.end()) return;
  const auto bounds = parent->second;
  auto& all = active_[scene.key];
  all.insert(all.end(), bounds.begin(), bounds.end());
}

std::optional<std::string> SkillHook::objection(const std::string& tool,
                                                const json::object& arguments,
                                                const runtime::Caller& caller) const {
  // A skill's own files and other skills can always be loaded.
  if (tool == runtime::kSkillTool) return std::nullopt;
  const auto found = active_.find(caller.key);
  if (found == active_.end()) return std::nullopt;
  for (const auto& active : found->second)
    if (!skills::allows(active.allowed, tool, arguments))
      return fmt::format(
          "tool not available: {}: the skill '{}' is active until the end of this "
          "turn and allows only: {}",
          utf8::excerpt(tool), active.name, fmt::join(active.allowed, ", "));
  return std::nullopt;
}

runtime::Intent SkillHook::intent(const std::string& tool, const json::object&,
                                  const runtime::Caller&) const {
  return runtime::Intent{runtime::Intent::Effect::reads, tool, tool, {}};
}

Task<ToolAnswer> SkillHook::call(std::string, json::object arguments, runtime::Caller caller) {
  if (const auto good = check(kSkill, arguments); !good)
    co_return ToolAnswer{good.error().what, true};
  const auto name = text_of(arguments, "name");
  const auto file = text_of(arguments, "file");
  if (!name.empty() && runtime::may_use_skill(caller.agent, name)) {
    const auto opened = co_await library_.open(name, file);
    if (opened && opened->text) co_return ToolAnswer{*opened->text};
    if (opened) {
      activate(caller.key, opened->found.skill);
      co_return ToolAnswer{skill_text(*opened)};
    }
    if (!file.empty() || opened.error().code != Errc::not_found)
      co_return ToolAnswer{opened.error().what, true};
  }
  if (name.empty() && !file.empty())
    co_return ToolAnswer{"invalid arguments: 'file' needs the name of its skill", true};
  const auto catalogue = co_await library_.look();
  const auto list = list_of(caller.agent, skills::look_for(catalogue, name));
  if (list.empty()) co_return ToolAnswer{"no skills found"};
  co_return ToolAnswer{list};
}

}  // namespace reef::hooks
