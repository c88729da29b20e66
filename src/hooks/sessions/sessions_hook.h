// Tools for earlier conversations: search_sessions and list_messages. An agent sees the
// conversations it had with the same sender, unless its configuration grants more.
#pragma once

#include "recall/recall.h"
#include "runtime/hook.h"

namespace reef::hooks {

class SessionsHook final : public runtime::Hook {
 public:
  // Makes a test for sessions out of filter terms (status:done label:x).
  using MakeTest = std::function<Result<recall::RowTest>(const std::string& terms)>;

  // All outlive it.
  SessionsHook(recall::Recall& recall, const session::Sessions& sessions, MakeTest make_test)
      : recall_(recall), sessions_(sessions), make_test_(std::move(make_test)) {}

  std::vector<model::Tool> tools(const runtime::Agent& agent) const override;
  std::string prompt(const runtime::Agent& agent) const override;
  runtime::Intent intent(const std::string& tool, const json::object& arguments,
                         const runtime::Caller& caller) const override;
  Task<runtime::ToolAnswer> call(std::string tool, json::object arguments,
                                 runtime::Caller caller) override;

 private:
  Task<runtime::ToolAnswer> search(const json::object& arguments, const runtime::Caller& caller);
  Task<runtime::ToolAnswer> list(const json::object& arguments, const runtime::Caller& caller);

  recall::Recall& recall_;
  const session::Sessions& sessions_;
  MakeTest make_test_;
};

}  // namespace reef::hooks
