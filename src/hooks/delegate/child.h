// One delegated task that runs, and how its questions reach the user. Loop thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/json.h"
#include "runtime/runtime.h"

namespace reef::hooks {

// Leads from children to the call that started them; closed when that call no longer waits.
struct Link {
  bool open = true;
  std::function<Task<Result<std::vector<runtime::UserAnswer>>>(runtime::Ask)> ask = {};
};

// Puts a child's question to the parent's user. Without a user it is refused.
Task<Result<std::vector<runtime::UserAnswer>>> pass_on(std::shared_ptr<Link> link,
                                                       std::string agent, runtime::Ask ask);

struct Child {
  std::string id;  // d3fa21b0c
  std::string agent;
  std::string session;  // its id
  std::shared_ptr<runtime::Run> run = {};
  std::string result = {};
  std::string error = {};  // empty: all went well
  bool cancelled = false;  // somebody cancelled it
};

// Reads along until the child ends, keeps its outcome, and tells what happens on the way.
Task<void> follow(std::shared_ptr<Child> child, std::function<void(std::string)> tell);

// {"agent","session","result"} or {"agent","session","error"}
json::object outcome_of(const Child& child);

}  // namespace reef::hooks
