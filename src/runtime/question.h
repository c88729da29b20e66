// What an agent, or the daemon on its behalf, asks the user in the middle of a turn. Plain values.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
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

// Questions that are asked together and answered together.
struct Ask {
  // A permission has one question, whose first option allows once and whose last one denies.
  enum class Kind : std::uint8_t { question, permission };
  std::vector<Question> questions;
  std::chrono::milliseconds patience{0};  // 0: the configured one
  Kind kind = Kind::question;
};
std::string_view name_of(Ask::Kind kind);

// The answer to one question: the labels chosen, or words of the user's own.
using Answer = std::vector<std::string>;

// Reads one answer for each question from what a client wrote:
//   {"question or header": "answer", "another": ["several", "answers"]}
//   ["answer", ["several", "answers"]]   in the order of the questions
//   plain words: the answer to one question; to several, a line each, else all to the first
// Words that name an option (its label, its number, for a permission also yes, no and always)
// become its label; all others stay as they are. A question without an answer gets an empty one.
std::vector<Answer> answers_from(const Ask& ask, std::string_view content);

}  // namespace reef::runtime
