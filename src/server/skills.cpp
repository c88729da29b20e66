// Skills: list_skills, read_skill.

#include <fmt/format.h>

#include "base/utf8.h"
#include "runtime/runtime.h"
#include "runtime/scope.h"
#include "server/operations.h"
#include "server/server.h"
#include "skills/library.h"

namespace reef::server {
namespace {

struct SkillsNeeds {
  skills::Library& skills;
  runtime::Runtime& runtime;
  const std::string& home;
  static SkillsNeeds of(const Node& node) { return {node.skills, node.runtime, node.home}; }
};

void fill(protocol::SkillInfo& out, SkillsNeeds needs, const skills::Found& found) {
  out.set_name(found.skill.name);
  out.set_description(found.skill.description);
  out.set_purpose(found.skill.description);
  out.set_source(utf8::sanitize(found.root));
  out.set_source_kind(found.root.starts_with(needs.home + "/") ? protocol::SOURCE_KIND_LOCAL
                                                               : protocol::SOURCE_KIND_EXTERNAL);
  out.set_path(utf8::sanitize(found.file));
  for (const auto& warning : found.skill.warnings) out.add_warnings(utf8::sanitize(warning));
}

Task<protocol::ServerMessage> list(SkillsNeeds needs, std::optional<runtime::Agent> agent) {
  const auto catalogue = co_await needs.skills.look();
  protocol::ServerMessage message;
  auto& out = *message.mutable_skill_list();
  for (const auto& found : catalogue.skills)
    if (!agent || runtime::may_use_skill(*agent, found.skill.name))
      fill(*out.add_skills(), needs, found);
  for (const auto& problem : catalogue.problems) out.add_problems(utf8::sanitize(problem));
  co_return message;
}

Task<protocol::ServerMessage> read(SkillsNeeds needs, std::string name, std::string file) {
  const auto opened = co_await needs.skills.open(std::move(name), std::move(file));
  if (!opened) co_return protocol::make_error(opened.error());
  protocol::ServerMessage message;
  auto& out = *message.mutable_skill_data();
  fill(*out.mutable_skill(), needs, opened->found);
  out.set_content(opened->text ? *opened->text : opened->found.skill.body);
  for (const auto& path : opened->files) out.add_files(path);
  co_return message;
}

protocol::Answer answer_list_skills(SkillsNeeds needs, const protocol::ListSkills& request) {
  std::optional<runtime::Agent> agent;
  if (!request.agent().empty()) {
    auto found = needs.runtime.setup().find(request.agent());
    if (!found) return protocol::answer_with(found.error());
    agent = *std::move(found);
  }
  return protocol::answer_with(list(needs, std::move(agent)));
}

protocol::Answer answer_read_skill(SkillsNeeds needs, const protocol::ReadSkill& request) {
  if (request.name().empty())
    return protocol::answer_with(Error(Errc::invalid, "which skill? `reef skills` lists them"));
  if (!request.agent().empty()) {
    const auto agent = needs.runtime.setup().find(request.agent());
    if (!agent) return protocol::answer_with(agent.error());
    if (!runtime::may_use_skill(*agent, request.name()))
      return protocol::answer_with(
          Error(Errc::denied, fmt::format("skill '{}' is outside the scope of agent '{}'",
                                          utf8::excerpt(request.name()), agent->name)));
  }
  return protocol::answer_with(read(needs, request.name(), request.file()));
}

}  // namespace

Operations skills_operations() {
  using M = protocol::ClientMessage;
  using protocol::Right;
  static constexpr Operation kRows[] = {
      {M::kListSkills, Right::read, Messages::one, Naming::none,
       answered<&M::list_skills, answer_list_skills>},
      {M::kReadSkill, Right::read, Messages::one, Naming::none,
       answered<&M::read_skill, answer_read_skill>},
  };
  return kRows;
}

}  // namespace reef::server
