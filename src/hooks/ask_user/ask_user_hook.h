// A tool that asks the user several questions at once, with options to choose from. Its name and
// arguments are CrabTalk's.
#pragma once

#include "runtime/hook.h"

namespace reef::hooks {

class AskUserHook final : public runtime::Hook {
 public:
  std::vector<model::Tool> tools(const runtime::Agent& agent) const override;
  std::string prompt(const runtime::Agent& agent) const override;
  runtime::Intent intent(const std::string& tool, const json::object& arguments,
                         const runtime::Caller& caller) const override;
  Task<runtime::ToolAnswer> call(std::string tool, json::object arguments,
                                 runtime::Caller caller) override;
};

}  // namespace reef::hooks
