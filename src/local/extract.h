// Makes summaries and titles without a model, from sentences and words of the conversation. Pure
// functions; deterministic.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "session/message.h"

namespace reef::local {

// Returns the most telling sentences, in their order, as "- user: ..." lines; at most `bytes_max`
// bytes. Empty when nothing was said.
std::string summarise(const std::vector<session::MessagePtr>& messages, std::size_t bytes_max);

// Returns three to six of the user's words, or as many as there are; empty when nothing was said.
std::string title_of(const std::vector<session::MessagePtr>& messages);

}  // namespace reef::local
