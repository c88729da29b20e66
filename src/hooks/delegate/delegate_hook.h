// delegate: an agent gives tasks to other agents, or to workers made for them, and waits for all of
// them or for none (docs/delegate.md). Loop thread.
//
//   order.h          Order     one task, as the model wrote it
//   child.h          Child     one task that runs
//   delegate_hook.h            this file
#pragma once

#include <functional>
#include <memory>

#include "base/pool.h"
#include "base/random.h"
#include "base/task_group.h"
#include "bus/bus.h"
#include "hooks/delegate/child.h"
#include "hooks/delegate/order.h"
#include "runtime/hook.h"
#include "runtime/runtime.h"
#include "session/session.h"

namespace reef::hooks {

// The built-in worker for people who talk to it and for events. A delegated task gets a worker that
// is like its caller instead.
runtime::Agent worker(const std::string& model);

struct DelegateLimits {
  int depth_max = 3;                // tasks within tasks
  std::size_t width_max = 8;        // of one call
  std::size_t background_max = 32;  // tasks that run, of all agents
};

class DelegateHook final : public runtime::Hook {
 public:
  // Everything outlives it.
  struct Needs {
    Executor loop;
    Pool& pool;
    runtime::Runtime& runtime;
    session::Sessions& sessions;
    bus::Bus& bus;
    Random& random;
  };
  explicit DelegateHook(Needs needs);

  void configure(DelegateLimits limits) { limits_ = limits; }
  // Stops waiting for the tasks in the background.
  Task<void> stop();

  std::vector<model::Tool> tools(const runtime::Agent& agent) const override;
  std::string prompt(const runtime::Agent& agent) const override;
  runtime::Intent intent(const std::string& tool, const json::object& arguments,
                         const runtime::Caller& caller) const override;
  bool keeps(const std::string&) const override { return true; }
  Task<runtime::ToolAnswer> call(std::string tool, json::object arguments,
                                 runtime::Caller caller) override;

 private:
  using Children = std::vector<std::shared_ptr<Child>>;

  Status check_limits(const std::vector<Order>& orders, bool background,
                      const runtime::Caller& caller) const;
  Task<std::shared_ptr<Child>> start(Order order, runtime::Caller caller,
                                     std::shared_ptr<Link> link);
  Task<Result<runtime::Message>> prepare(Order order, runtime::Caller caller, Child& child);
  // The agent that does the task, within the bounds of the caller.
  Result<runtime::Agent> agent_for(const Order& order, const runtime::Caller& caller) const;
  Task<void> announce(std::shared_ptr<Child> child, runtime::Caller caller);

  Needs needs_;
  DelegateLimits limits_;
  std::size_t in_background_ = 0;
  TaskGroup background_;
};

}  // namespace reef::hooks
