// A name for what a conversation is about. Loop thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "runtime/agent.h"
#include "session/session.h"

namespace reef::runtime {

// One line of three to six words, as it is kept; the error tells the model what is wrong. Scripts
// that write without spaces have no words to count: there its length decides.
Result<std::string> title_from(std::string_view text);

struct TitleRequest {
  session::SessionId session;
  Agent agent;
  std::shared_ptr<const Setup> setup;
  bool replace = false;  // also a title it has
};
// Asks the session's model, in the language of the conversation; without one the words that say
// most are taken. What it returns is the session's title now. All or nothing: on an error, and when
// the task is cancelled, the session is as it was. A title that somebody gave it meanwhile stays.
Task<Result<std::string>> make_title(session::Sessions& sessions, TitleRequest request);

}  // namespace reef::runtime
