// What a summariser is asked, and whether its answer will do.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "session/message.h"

namespace reef::context {

// A conversation as text somebody else reads: who said what, calls with their arguments, long
// results cut. In pieces of at most about `bytes_max` bytes; a message longer than that is divided.
std::vector<std::string> as_text(const std::vector<session::MessagePtr>& messages,
                                 std::size_t bytes_max);

struct SummaryRequest {
  std::string_view conversation;  // as_text()
  std::string_view previous;      // the summary so far; empty: none
  std::string_view agent_prompt;  // who the agent is, so that it stays who it is
  std::string_view instructions;  // of the user who asked for the compaction
  bool part_of_turn = false;      // the beginning of a turn whose rest is kept
};
// The system prompt and the words of the user for one call.
std::string summary_system();
std::string summary_words(const SummaryRequest& request);

// One summary of what was before the turn and of the turn's own beginning.
std::string join_summaries(std::string history, std::string_view turn);

// Fails, saying why, when a summary would not do: nothing in it, or no shorter than the `replaced`
// tokens it stands for.
Status check_summary(std::string_view summary, std::int64_t replaced);

}  // namespace reef::context
