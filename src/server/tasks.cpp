// Everything that runs: list_tasks, cancel_task, subscribe_tasks, follow_tasks.

#include "runtime/tasks.h"

#include "base/utf8.h"
#include "server/following.h"
#include "server/operations.h"
#include "server/server.h"

namespace reef::server {
namespace {

struct TasksNeeds {
  runtime::Tasks& tasks;
  static TasksNeeds of(const Node& node) { return {node.tasks}; }
};

void fill(protocol::TaskInfo& out, const runtime::TaskInfo& task) {
  out.set_id(task.id);
  out.set_kind(task.kind);
  out.set_what(utf8::sanitize(task.what));
  out.set_agent(task.agent);
  out.set_sender(task.sender);
  out.set_session_id(task.session);
  out.set_parent(task.parent);
  out.set_started_at(format_iso(task.started));
  out.set_progress(task.progress);
  out.set_detail(utf8::sanitize(task.detail));
  out.set_can_cancel(task.can_cancel);
  out.set_state(std::string(runtime::name_of(task.state)));
}

// Never ends by itself.
class TaskStream final : public protocol::MessageStream {
 public:
  explicit TaskStream(std::shared_ptr<runtime::TaskWatch> watch) : watch_(std::move(watch)) {}

  Task<std::optional<protocol::ServerMessage>> next() override {
    const auto change = co_await watch_->next();
    protocol::ServerMessage message;
    auto& out = *message.mutable_task_event();
    fill(*out.mutable_task(), change.task);
    out.set_missed(change.missed);
    co_return message;
  }

 private:
  std::shared_ptr<runtime::TaskWatch> watch_;
};

protocol::Answer answer_list_tasks(TasksNeeds needs) {
  protocol::ServerMessage message;
  auto& out = *message.mutable_task_list();
  for (const auto* task : needs.tasks.list()) fill(*out.add_tasks(), *task);
  return protocol::answer_with(std::move(message));
}

protocol::Answer answer_cancel_task(TasksNeeds needs, const protocol::CancelTask& request) {
  const auto done = needs.tasks.cancel(request.id());
  if (!done) return protocol::answer_with(done.error());
  return protocol::answer_with(protocol::make_pong());
}

protocol::Answer answer_subscribe_tasks(TasksNeeds needs) {
  return std::make_unique<TaskStream>(needs.tasks.watch());
}

class FollowedTasks final : public Followed {
 public:
  explicit FollowedTasks(TasksNeeds needs) : needs_(needs) {}

  ChangeLog& log() override { return needs_.tasks.changes(); }
  protocol::Place& place(protocol::ServerMessage& out) override {
    return *out.mutable_tasks_news()->mutable_place();
  }
  Task<Result<bool>> tell_all(protocol::ServerMessage& out, bool) override {
    for (const auto* task : needs_.tasks.list())
      fill(*out.mutable_tasks_news()->add_tasks(), *task);
    co_return true;
  }
  Task<std::size_t> tell(protocol::ServerMessage& out, std::string id) override {
    const auto* task = needs_.tasks.find(id);
    if (!task) co_return 0;
    auto& added = *out.mutable_tasks_news()->add_tasks();
    fill(added, *task);
    co_return added.ByteSizeLong();
  }

 private:
  TasksNeeds needs_;
};

protocol::Answer answer_follow_tasks(TasksNeeds needs, const protocol::FollowTasks& request) {
  return follow(std::make_unique<FollowedTasks>(needs), request.cursor());
}

}  // namespace

Operations tasks_operations() {
  using M = protocol::ClientMessage;
  using protocol::Right;
  static constexpr Operation kRows[] = {
      {M::kListTasks, Right::read, Messages::one, Naming::none, answered<answer_list_tasks>},
      {M::kCancelTask, Right::answer, Messages::one, Naming::ledger,
       answered<&M::cancel_task, answer_cancel_task>},
      {M::kSubscribeTasks, Right::read, Messages::many, Naming::none,
       answered<answer_subscribe_tasks>},
      {M::kFollowTasks, Right::read, Messages::many, Naming::none,
       answered<&M::follow_tasks, answer_follow_tasks>},
  };
  return kRows;
}

}  // namespace reef::server
