// Tools for the machine: bash, read, write, edit, ls, grep, glob, and submit_plan for work that is
// only proposed (docs/tools.md).
//
//   tools.h    the tools, one function each
//   paths.h    where they may go                 files.h    whole files, replaced as one
//   seen.h     what was read                     edits.h    pieces of a text replaced
//   diff.h     what changed                      output.h   what a command says, of any length
//   walk.h     everything below a folder         ignore.h   .gitignore
//   pattern.h  patterns of paths
//
// Loop thread.
#pragma once

#include <functional>

#include "base/clock.h"
#include "hooks/os/tools.h"
#include "session/documents.h"
#include "session/session.h"

namespace reef::hooks {

class OsHook final : public runtime::Hook {
 public:
  // Everything outlives it.
  struct Needs {
    Executor loop;
    Pool& pool;
    session::Documents& documents;
    Clock& clock;
    const session::Sessions& sessions;
    std::string reef_home;  // absolute
    std::string user_home;
    mode_t umask = 022;  // the user's
    // The tokens the caller's model can hold; 0 when not known.
    std::function<std::int64_t(const runtime::Caller&)> context_window = {};
  };
  explicit OsHook(Needs needs);

  std::vector<model::Tool> tools(const runtime::Agent& agent) const override;
  std::string prompt(const runtime::Agent& agent) const override;
  Task<std::string> instructions(const runtime::Agent& agent,
                                 const runtime::Place& place) const override;
  runtime::Intent intent(const std::string& tool, const json::object& arguments,
                         const runtime::Caller& caller) const override;
  bool keeps(const std::string& tool) const override;
  Task<runtime::ToolAnswer> call(std::string tool, json::object arguments,
                                 runtime::Caller caller) override;

 private:
  os::PathRules ground_of(const runtime::Caller& caller) const;
  os::CallNeeds desk_for(const runtime::Caller& caller);

  Needs needs_;
  os::Seen seen_;
  os::Claims claims_;
};

}  // namespace reef::hooks
