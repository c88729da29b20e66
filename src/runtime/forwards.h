// Calls of tools that the client of a turn runs; each waits here for its outcome. Loop thread.
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

  // Waits for the outcome of a call; cancelled with its task. A second call of the same names
  // fails.
  Task<ToolAnswer> wait(std::uint64_t conversation, std::string call_id);
  // not_found when nothing waits under these names.
  Status answer(std::uint64_t conversation, const std::string& call_id, std::string_view output,
                bool is_error);
  // The client has left: the calls that wait for it fail.
  void give_up(std::uint64_t conversation);

 private:
  using Name = std::pair<std::uint64_t, std::string>;
  std::map<Name, std::optional<ToolAnswer>> waiting_;
  Notify changed_;
};

// Adds the tools a client brought for one turn. They replace the agent's tools of the same names,
// except ask_user; whether they may be called is judged as for any tool.
std::shared_ptr<const Toolbox> with_client_tools(std::shared_ptr<const Toolbox> toolbox,
                                                 const Agent& agent, std::vector<model::Tool> tools,
                                                 std::shared_ptr<Run> run, Forwards& forwards);

}  // namespace reef::runtime
