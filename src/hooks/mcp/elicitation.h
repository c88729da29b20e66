// Turns what a server wants to know from the user into questions, and the answers into the form it
// wants. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "mcp/peer.h"
#include "runtime/question.h"

namespace reef::hooks {

// One question for each field of the form; one for a page to visit, or a form without fields.
std::vector<runtime::Question> questions_from(const std::string& server,
                                              const mcp::Elicitation& elicitation);

// Returns the answers in the types the form wants; open fields get the form's default. Fails with
// words for the user when an answer does not fit.
Result<mcp::Elicited> elicited_from(const mcp::Elicitation& elicitation,
                                    const std::vector<runtime::UserAnswer>& answers);

}  // namespace reef::hooks
