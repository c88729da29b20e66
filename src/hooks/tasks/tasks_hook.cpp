#include "hooks/tasks/tasks_hook.h"

#include <fmt/format.h>

#include "base/overload.h"
#include "base/utf8.h"

namespace reef::hooks {

using runtime::TaskInfo;
using State = TaskInfo::State;

void TasksHook::begin(const runtime::Scene& scene) {
  TaskInfo info;
  info.kind = scene.lineage.delegations > 0 ? "delegate" : "turn";
  info.what = fmt::format("{} answers {}", utf8::excerpt(scene.agent), utf8::excerpt(scene.sender));
  info.agent = scene.agent;
  info.sender = scene.sender;
  info.session = scene.session;
  const auto parent = turns_.find(scene.lineage.parent);
  if (parent != turns_.end()) info.parent = parent->second.entry->id();
  auto entry = tasks_.begin(std::move(info), [this, key = scene.key] {
    static_cast<void>(runtime_.kill("", "", key).ok());
  });
  turns_[scene.key] = Turn{{}, std::move(entry)};
}

void TasksHook::begin_calls(const runtime::Scene& scene, const runtime::ToolStart& start,
                            Turn& turn) {
  std::string names;
  for (const auto& call : start.calls) {
    const auto name = utf8::excerpt(call.name);
    names += (names.empty() ? "" : ", ") + name;
    TaskInfo info;
    info.kind = "tool";
    info.what = name;
    info.agent = scene.agent;
    info.sender = scene.sender;
    info.session = scene.session;
    info.parent = turn.entry->id();
    turn.calls[call.id] = tasks_.begin(std::move(info), [this, key = scene.key, id = call.id] {
      if (const auto run = runtime_.running("", "", key))
        static_cast<void>((*run)->cancel_call(id));
    });
  }
  turn.entry->update(-1, "calls " + names);
}

void TasksHook::end(const runtime::Scene& scene, const runtime::End& end) {
  auto node = turns_.extract(scene.key);
  if (node.empty()) return;
  node.mapped().calls.clear();
  node.mapped().entry->end(end.error.empty()             ? State::done
                           : end.code == Errc::cancelled ? State::cancelled
                                                         : State::failed);
}

void TasksHook::on_event(const runtime::Scene& scene, const runtime::Event& event) {
  if (std::holds_alternative<runtime::Start>(event)) return begin(scene);
  const auto found = turns_.find(scene.key);
  if (found == turns_.end()) return;
  auto& turn = found->second;
  const auto call = [&](const std::string& id) {
    const auto known = turn.calls.find(id);
    return known == turn.calls.end() ? nullptr : known->second.get();
  };
  std::visit(Overload{
                 [&](const runtime::TextStart&) { turn.entry->update(-1, "speaks"); },
                 [&](const runtime::ThinkingStart&) { turn.entry->update(-1, "thinks"); },
                 [&](const runtime::ToolStart& e) { begin_calls(scene, e, turn); },
                 [&](const runtime::ToolProgress& e) {
                   if (auto* entry = call(e.call_id)) entry->update(-1, e.text);
                 },
                 [&](const runtime::AskUser& e) {
                   turn.entry->update(-1, "waits for an answer");
                   if (auto* entry = call(e.call_id)) entry->update(-1, "waits for an answer");
                 },
                 [&](const runtime::ToolResult& e) {
                   if (auto* entry = call(e.call_id))
                     entry->end(e.is_error ? State::failed : State::done);
                   turn.calls.erase(e.call_id);
                 },
                 [&](const runtime::End& e) { end(scene, e); },
                 [](const auto&) {},
             },
             event);
}

}  // namespace reef::hooks
