// What a message asks the local provider for. Pure functions; deterministic.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace reef::model {

struct Intent {
  enum class Kind : std::uint8_t {
    statement,  // told, not asked
    greeting,
    recap,     // of this conversation
    title,     // for this conversation
    remember,  // subject: what
    forget,    // subject: what
    question,  // subject: what is asked about
  };
  Kind kind = Kind::statement;
  std::string subject;
};

Intent intent_of(std::string_view text);
bool is_question(std::string_view text);

}  // namespace reef::model
