// What a turn said, told again from the transcript to a client that sends its message a second
// time. Pure functions.
#pragma once

#include <optional>
#include <vector>

#include "runtime/event.h"
#include "session/client_mark.h"
#include "session/transcript.h"

namespace reef::runtime {

struct Retold {
  // The events of the first time without thoughts and progress; the last is the end.
  std::vector<Event> events;
  bool answered = false;  // the turn came to its end
  bool last = true;       // nothing else was said behind it
  bool hidden = false;    // the words came from a program
};
// nullopt when the message is not there.
std::optional<Retold> retell(const session::Transcript& transcript, const session::ClientMark& mark,
                             const session::SessionId& session, const std::string& agent);

}  // namespace reef::runtime
