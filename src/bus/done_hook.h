// Publishes the end of a turn: `agent:NAME:done` with the agent's last words, `agent:NAME:failed`
// with the error. Loop thread.
#pragma once

#include <map>
#include <string>

#include "bus/bus.h"
#include "runtime/hook.h"

namespace reef::bus {

class DoneHook final : public runtime::Hook {
 public:
  // `bus` outlives it.
  explicit DoneHook(Bus& bus) : bus_(bus) {}

  void on_event(const runtime::Scene& scene, const runtime::Event& event) override;

 private:
  void add(const runtime::Scene& scene, const std::string& text);

  Bus& bus_;
  // The answers so far, by conversation; only where somebody waits for one.
  std::map<std::string, std::string, std::less<>> said_;
};

}  // namespace reef::bus
