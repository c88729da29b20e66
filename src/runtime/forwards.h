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

  // A client that runs the tools of a run is there as long as it holds the token. When the last one
  // leaves, the calls that wait fail, and those that come later do at once, until another one
  // comes. nullptr for a client whose tools are not those of the run.
  std::shared_ptr<void> attend(std::shared_ptr<Run> run, const std::vector<std::string>& tools);

  // Gives the call to the clients that are there and waits for its outcome; cancelled with its
  // task. A second call of the same id fails.
  Task<ToolAnswer> call(std::shared_ptr<Run> run, std::string call_id, std::string tool,
                        std::string arguments);
  // Whether the call has no outcome yet.
  bool waits(std::uint64_t conversation, const std::string& call_id) const;
  // not_found when nothing waits under these names.
  Status answer(std::uint64_t conversation, const std::string& call_id, std::string_view output,
                bool is_error);

 private:
  void leave(Run& run);
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
