// What an agent, or the daemon on its behalf, wants to know from the user in the middle of a turn.
// Plain values.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace reef::runtime {

struct Question {
  struct Option {
    std::string label, description;
  };
  std::string text;
  std::string header;  // a word or two
  std::vector<Option> options;
  bool multi_select = false;
};

// Questions that are put at once and answered at once.
struct Ask {
  std::vector<Question> questions;
  std::chrono::milliseconds patience{0};  // 0: the configured one
};

// Of one question: the labels chosen, or words of the user's own.
using Answer = std::vector<std::string>;

}  // namespace reef::runtime
