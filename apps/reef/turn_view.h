// Shows a turn on the terminal as it comes: the answer on stdout; for a person also, on stderr, the
// tools that are called, what they print and how they end. Control characters of others never reach
// a terminal.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "client/client.h"
#include "context.h"

namespace reef::cli {

struct TurnEnd {
  std::string reply;
  protocol::StreamEnd end;
  std::optional<protocol::ContextUsage> context;  // after the last step
};

// The options, such as "1. Red - like the sun", and what to type.
std::vector<std::string> lines_of(const protocol::AskQuestion& question);

// Returns what a person typed for one question; nullopt for no answer.
using Prompt = std::function<std::optional<std::string>(const protocol::AskQuestion&)>;

// Reads the stream to its end. Prints the pieces when `live`. Questions are put to `prompt`;
// without one, stderr tells how to answer them. When `verbose`, a person is told how full the
// window is.
Task<Result<TurnEnd>> watch_turn(client::Client& client, client::Stream stream, bool live,
                                 const Prompt& prompt, bool verbose = false);

json::object turn_json(const TurnEnd& turn, const std::string& sender);

// A prompt at the terminal; empty when stdin is not one.
Prompt terminal_prompt();

}  // namespace reef::cli
