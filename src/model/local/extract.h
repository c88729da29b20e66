// Summaries and titles without a model: sentences and words taken from what was said. Pure
// functions; deterministic.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "session/message.h"

namespace reef::model {

// The sentences that say most, in the order they were said, as "- user: ..." lines; at most
// `bytes_max` bytes. Empty when nothing was said.
std::string summarise(const std::vector<session::MessagePtr>& messages, std::size_t bytes_max);

// Three to six words of the user's, or as many as there are; empty when nothing was said.
std::string title_of(const std::vector<session::MessagePtr>& messages);

}  // namespace reef::model
