// Everything that runs: list_tasks, cancel_task, subscribe_tasks.

#include "base/utf8.h"
#include "server/operations.h"
#include "server/server.h"

namespace reef::server {
namespace {

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

protocol::Answer answer_list_tasks(Node& node) {
  protocol::ServerMessage message;
  auto& out = *message.mutable_task_list();
  for (const auto* task : node.tasks->list()) fill(*out.add_tasks(), *task);
  return protocol::answer_with(std::move(message));
}

protocol::Answer answer_cancel_task(Node& node, const protocol::CancelTask& request) {
  const auto done = node.tasks->cancel(request.id());
  if (!done) return protocol::answer_with(done.error());
  return protocol::answer_with(protocol::make_pong());
}

protocol::Answer answer_subscribe_tasks(Node& node) {
  return std::make_unique<TaskStream>(node.tasks->watch());
}

}  // namespace

Operations tasks_operations() {
  using M = protocol::ClientMessage;
  using protocol::Right;
  static constexpr Operation kRows[] = {
      {M::kListTasks, Right::read, Answers::once,
       [](const Asked& asked) { return answer_list_tasks(asked.node); }},
      {M::kCancelTask, Right::answer, Answers::once, answered<&M::cancel_task, answer_cancel_task>},
      {M::kSubscribeTasks, Right::read, Answers::several,
       [](const Asked& asked) { return answer_subscribe_tasks(asked.node); }},
  };
  return kRows;
}

}  // namespace reef::server
