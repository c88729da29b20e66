#include "runtime/tasks.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/utf8.h"

namespace reef::runtime {
namespace {

// Turns "t12" into 12; 0 when it is no id.
std::uint64_t number_of(std::string_view id) {
  std::uint64_t number = 0;
  if (!id.starts_with('t')) return 0;
  const auto [end, failed] = std::from_chars(id.data() + 1, id.data() + id.size(), number);
  return failed == std::errc() && end == id.data() + id.size() ? number : 0;
}

}  // namespace

std::string_view name_of(TaskInfo::State state) {
  switch (state) {
    case TaskInfo::State::running:
      return "running";
    case TaskInfo::State::done:
      return "done";
    case TaskInfo::State::failed:
      return "failed";
    case TaskInfo::State::cancelled:
      return "cancelled";
  }
  return "running";
}

void TaskWatch::take(const TaskInfo& task) {
  const auto same = std::find_if(queue_.rbegin(), queue_.rend(),
                                 [&](const auto& queued) { return queued.id == task.id; });
  if (same != queue_.rend()) {
    *same = task;
  } else {
    queue_.push_back(task);
  }
  while (queue_.size() > kChangesMax) {
    queue_.pop_front();
    ++missed_;
  }
  changed_.notify_all();
}

Task<TaskChange> TaskWatch::next() {
  while (queue_.empty()) co_await changed_.wait();
  TaskChange out{std::move(queue_.front()), std::exchange(missed_, 0)};
  queue_.pop_front();
  co_return out;
}

void Tasks::Entry::update(double progress, std::string_view detail) {
  if (!tasks_) return;
  auto& info = tasks_->running_.at(number_of(id_)).info;
  auto words = utf8::excerpt(detail, kDetailBytesMax);
  if (info.progress == progress && info.detail == words) return;
  info.progress = progress;
  info.detail = std::move(words);
  tasks_->tell(info);
}

void Tasks::Entry::end(TaskInfo::State state) {
  auto* tasks = std::exchange(tasks_, nullptr);
  if (!tasks) return;
  auto node = tasks->running_.extract(number_of(id_));
  auto& info = node.mapped().info;
  info.state = state;
  info.can_cancel = false;
  tasks->tell(info);
  tasks->remember(node.key(), std::move(info));
}

void Tasks::remember(std::uint64_t number, TaskInfo info) {
  ended_.emplace(number, std::move(info));
  ended_order_.push_back(number);
  if (ended_order_.size() <= kEndedMax) return;
  const auto oldest = ended_.extract(ended_order_.front());
  ended_order_.pop_front();
  changes_.give_up(oldest.mapped().id);
}

const TaskInfo* Tasks::find(const std::string& id) const {
  const auto number = number_of(id);
  if (const auto running = running_.find(number); running != running_.end())
    return &running->second.info;
  const auto ended = ended_.find(number);
  return ended == ended_.end() ? nullptr : &ended->second;
}

std::unique_ptr<Tasks::Entry> Tasks::begin(TaskInfo info, std::function<void()> cancel) {
  const auto number = ++last_;
  info.id = fmt::format("t{}", number);
  info.started = clock_.now();
  info.can_cancel = cancel != nullptr;
  auto entry = std::make_unique<Entry>(*this, info.id);
  const auto& kept =
      running_.emplace(number, Running{std::move(info), std::move(cancel)}).first->second;
  tell(kept.info);
  return entry;
}

std::vector<const TaskInfo*> Tasks::list() const {
  std::vector<const TaskInfo*> out;
  for (const auto& [number, running] : running_) out.push_back(&running.info);
  return out;
}

Status Tasks::cancel(const std::string& id) {
  const auto found = running_.find(number_of(id));
  if (found == running_.end())
    return Error(Errc::not_found, fmt::format("no task '{}' is running", utf8::excerpt(id)));
  const auto cancel = found->second.cancel;  // a copy: the entry may be gone before it returns
  if (!cancel)
    return Error(Errc::unsupported, fmt::format("task {} ({}) cannot be cancelled; it ends by "
                                                "itself",
                                                id, found->second.info.kind));
  cancel();
  return Ok{};
}

std::shared_ptr<TaskWatch> Tasks::watch() {
  auto out = std::make_shared<TaskWatch>(loop_);
  for (const auto* task : list()) out->take(*task);
  watches_.push_back(out);
  return out;
}

void Tasks::tell(const TaskInfo& task) {
  changes_.touch(task.id);
  for (auto it = watches_.begin(); it != watches_.end();) {
    if (const auto watch = it->lock()) {
      watch->take(task);
      ++it;
    } else {
      it = watches_.erase(it);
    }
  }
}

}  // namespace reef::runtime
