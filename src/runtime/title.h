// Names a conversation after what it is about. Loop thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "runtime/agent.h"
#include "session/session.h"

namespace reef::runtime {

// Returns a title as it is kept: one line of three to six words. The error tells the model what is
// wrong. Scripts without spaces have no words to count, so there the length decides.
Result<std::string> title_from(std::string_view text);

struct TitleRequest {
  session::SessionId session;
  Agent agent;
  std::shared_ptr<const Setup> setup;
  bool replace = false;  // also when the session has a title
};
// Asks the session's model, in the language of the conversation; without a model it takes the words
// that say most. Returns the session's title. All or nothing: on an error, and when the task is
// cancelled, the session is unchanged. A title that somebody gave it meanwhile stays.
Task<Result<std::string>> make_title(session::Sessions& sessions, TitleRequest request);

}  // namespace reef::runtime
