// skill: an agent loads instructions from folders of the user's; `/name args` loads them for it.
// From its load to the end of that turn a skill is active, and its allowed-tools bind every call
// (docs/skills.md). Loop thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/hook.h"
#include "skills/library.h"

namespace reef::hooks {

class SkillHook final : public runtime::Hook {
 public:
  // `library` outlives it.
  explicit SkillHook(skills::Library& library) : library_(library) {}

  std::vector<model::Tool> tools(const runtime::Agent& agent) const override;
  Task<std::string> instructions(const runtime::Agent& agent,
                                 const runtime::Place& place) const override;
  Task<void> preprocess(const runtime::Agent& agent, const std::string& key,
                        runtime::Words& words) override;
  void on_event(const runtime::Scene& scene, const runtime::Event& event) override;
  std::optional<std::string> objection(const std::string& tool, const json::object& arguments,
                                       const runtime::Caller& caller) const override;
  runtime::Intent intent(const std::string& tool, const json::object& arguments,
                         const runtime::Caller& caller) const override;
  Task<runtime::ToolAnswer> call(std::string tool, json::object arguments,
                                 runtime::Caller caller) override;

 private:
  struct Active {
    std::string name;
    std::vector<std::string> allowed;
  };
  void activate(const std::string& key, const skills::Skill& skill);

  skills::Library& library_;
  std::map<std::string, std::vector<Active>, std::less<>> active_;  // by conversation
};

}  // namespace reef::hooks
