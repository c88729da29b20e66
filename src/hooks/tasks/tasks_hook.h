// Lists turns and their tool calls among what runs (runtime/tasks.h). Gives agents nothing. Loop
// thread.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "runtime/hook.h"
#include "runtime/runtime.h"
#include "runtime/tasks.h"

namespace reef::hooks {

class TasksHook final : public runtime::Hook {
 public:
  // Both outlive it.
  TasksHook(runtime::Tasks& tasks, runtime::Runtime& runtime) : tasks_(tasks), runtime_(runtime) {}

  void on_event(const runtime::Scene& scene, const runtime::Event& event) override;

 private:
  struct Turn {
    std::map<std::string, std::unique_ptr<runtime::Tasks::Entry>> calls = {};  // by their id
    std::unique_ptr<runtime::Tasks::Entry> entry = {};
  };
  void begin(const runtime::Scene& scene);
  void begin_calls(const runtime::Scene& scene, const runtime::ToolStart& start, Turn& turn);
  void end(const runtime::Scene& scene, const runtime::End& end);

  runtime::Tasks& tasks_;
  runtime::Runtime& runtime_;
  std::map<std::string, Turn, std::less<>> turns_;  // by conversation: each runs one turn at a time
};

}  // namespace reef::hooks
