// What a message asks the local provider for. Pure functions; deterministic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace reef::model {

// A longer text is a text, whatever it begins with.
inline constexpr std::size_t kCommandBytesMax = 4096;

struct Intent {
  enum class Kind : std::uint8_t {
    statement,  // told, not asked
    greeting,
    recap,     // of this conversation
    title,     // for this conversation
    remember,  // subject: what, as it was said; empty: it was not said
    forget,    // subject: what
    question,  // subject: what is asked about
  };
  Kind kind = Kind::statement;
  std::string subject;
  bool exact = false;     // the subject stood in quotes: it is a name, not a description
  bool too_long = false;  // to be remembered; there is no subject then
};

Intent intent_of(std::string_view text);
bool is_question(std::string_view text);

}  // namespace reef::model
