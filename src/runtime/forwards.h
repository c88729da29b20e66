// Calls of tools that the client of a turn runs: each waits here for its outcome. Loop thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/notify.h"
#include "base/result.h"
#include "runtime/hook.h"

namespace reef::runtime {

class Run;

class Forwards {
 public:
  static constexpr std::size_t kOutputBytesMax = 1U << 20;

  explicit Forwards(Executor loop) : changed_(std::move(loop)) {}

  // Ends with the outcome, or with the task that waits. Refused when one of these names waits
  // already, or when nobody is there to run it.
  Task<ToolAnswer> wait(std::uint64_t conversation, std::string call_id);
  // not_found when nothing waits under these names.
  Status answer(std::uint64_t conversation, const std::string& call_id, std::string_view output,
                bool is_error);
  // The client has left: what waits for it fails.
  void give_up(std::uint64_t conversation);

 private:
  using Name = std::pair<std::uint64_t, std::string>;
  std::map<Name, std::optional<ToolAnswer>> waiting_;
  Notify changed_;
};

// The tools a client brought along for one turn. Where one has the name of a tool the agent has, it
// takes its place; whether it may be called is judged as before.
std::shared_ptr<const Toolbox> with_client_tools(std::shared_ptr<const Toolbox> toolbox,
                                                 const Agent& agent, std::vector<model::Tool> tools,
                                                 std::shared_ptr<Run> run, Forwards& forwards);

}  // namespace reef::runtime
