// set_title: an agent names the session it speaks in. The title is the session's own name, which
// lists show and people can change.
#pragma once

#include "runtime/hook.h"
#include "session/session.h"

namespace reef::hooks {

class TitleHook final : public runtime::Hook {
 public:
  // `sessions` outlives it.
  explicit TitleHook(session::Sessions& sessions) : sessions_(sessions) {}

  std::vector<model::Tool> tools(const runtime::Agent& agent) const override;
  std::string prompt(const runtime::Agent& agent) const override;
  runtime::Intent intent(const std::string& tool, const json::object& arguments,
                         const runtime::Caller& caller) const override;
  bool keeps(const std::string&) const override { return true; }
  Task<runtime::ToolAnswer> call(std::string tool, json::object arguments,
                                 runtime::Caller caller) override;

 private:
  session::Sessions& sessions_;
};

}  // namespace reef::hooks
