// Makes the request to a summariser and checks its answer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "session/message.h"

namespace reef::context {

// Renders a conversation as text for another reader: who said what, calls with their arguments,
// long results cut. The pieces have at most about `bytes_max` bytes; a longer message is divided.
std::vector<std::string> as_text(const std::vector<session::MessagePtr>& messages,
                                 std::size_t bytes_max);

struct SummaryRequest {
  std::string_view conversation;  // as_text()
  std::string_view previous;      // the summary so far; may be empty
  std::string_view agent_prompt;  // tells the summariser who the agent is
  std::string_view instructions;  // from the user who asked for the compaction
  bool part_of_turn = false;      // the conversation is the beginning of a turn whose rest is kept
};
// The system prompt and the user's message for one call.
std::string summary_system();
std::string summary_words(const SummaryRequest& request);

// Joins the summary of the history before a turn with that of the turn's beginning.
std::string join_summaries(std::string history, std::string_view turn);

// Fails with the reason when a summary is useless: empty, or no shorter than the `replaced` tokens
// it stands for.
Status check_summary(std::string_view summary, std::int64_t replaced);

}  // namespace reef::context
