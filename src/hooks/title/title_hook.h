// set_title: an agent names the session it speaks in. The title is the session's own name, which
// lists show and people can change.
#pragma once

#include "runtime/hook.h"
#include "session/session.h"

namespace reef::hooks {

// One line of three to six words, as it is kept; the error tells the model what is wrong. Scripts
// that write without spaces have no words to count: there its length decides.
Result<std::string> title_from(std::string_view text);

class TitleHook final : public runtime::Hook {
 public:
  // Outlives it.
  explicit TitleHook(session::Sessions& sessions) : sessions_(sessions) {}

  std::vector<model::Tool> tools(const runtime::Agent& agent) const override;
  std::string prompt(const runtime::Agent& agent) const override;
  runtime::Intent intent(const std::string& tool, const json::object& arguments,
                         const runtime::Caller& caller) const override;
  Task<runtime::ToolAnswer> call(std::string tool, json::object arguments,
                                 runtime::Caller caller) override;

 private:
  session::Sessions& sessions_;
};

}  // namespace reef::hooks
