// What a server wants to know from the user, as questions, and their answers as it wants them. Pure
// functions.
#pragma once

#include <string>
#include <vector>

#include "mcp/peer.h"
#include "runtime/question.h"

namespace reef::hooks {

// One question for each field of the form; one for a page to visit, or a form without fields.
std::vector<runtime::Question> questions_from(const std::string& server,
                                              const mcp::Elicitation& elicitation);

// The answers in the types the form wants. What was left open gets the form's default. Fails with
// words for the user when an answer cannot be what it should.
Result<mcp::Elicited> elicited_from(const mcp::Elicitation& elicitation,
                                    const std::vector<runtime::Answer>& answers);

}  // namespace reef::hooks
