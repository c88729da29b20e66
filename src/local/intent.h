// Finds out what a message asks the local provider to do. Pure functions; deterministic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace reef::local {

// A longer text is never a command, however it begins.
inline constexpr std::size_t kCommandBytesMax = 4096;

struct Intent {
  enum class Kind : std::uint8_t {
    statement,  // tells something and asks for nothing
    greeting,
    recap,     // of this conversation
    title,     // for this conversation
    remember,  // subject: the text to remember, as written; empty when it is missing
    forget,    // subject: what to forget
    question,  // subject: what the question is about
  };
  Kind kind = Kind::statement;
  std::string subject;
  bool exact = false;     // the subject was quoted, so it is a name and not a description
  bool too_long = false;  // too long to be remembered; there is no subject
};

Intent intent_of(std::string_view text);
bool is_question(std::string_view text);

}  // namespace reef::local
