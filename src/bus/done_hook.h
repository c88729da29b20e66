// Turns that end are events: `agent:NAME:done` with the agent's last words, `agent:NAME:failed`
// with what went wrong. Loop thread.
#pragma once

#include <map>
#include <string>

#include "bus/bus.h"
#include "runtime/hook.h"

namespace reef::bus {

class DoneHook final : public runtime::Hook {
 public:
  // Outlives it.
  explicit DoneHook(Bus& bus) : bus_(bus) {}

  void on_event(const runtime::Scene& scene, const runtime::Event& event) override;

 private:
  void add(const runtime::Scene& scene, const std::string& text);

  Bus& bus_;
  // What is being said, by conversation; only where somebody waits for it.
  std::map<std::string, std::string, std::less<>> said_;
};

}  // namespace reef::bus
