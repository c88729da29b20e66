// What an agent, or the daemon on its behalf, asks the user in the middle of a turn. Plain values.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

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
  // All but a question have one question, whose first option agrees and whose last one refuses.
  enum class Kind : std::uint8_t {
    question,
    permission,  // a tool call waits
    plan,        // one was handed in; nobody waits
    failed,      // a turn failed, and may be tried again; nobody waits
  };
  std::vector<Question> questions;
  std::chrono::milliseconds patience{0};  // 0: the configured one
  Kind kind = Kind::question;
  // Asked by work that was delegated, which ends with the daemon.
  bool nested = false;
};
std::string_view name_of(Ask::Kind kind);
std::optional<Ask::Kind> ask_kind_from(std::string_view name);
// Whether both ask the same in the same words.
bool same_words(const Ask& a, const Ask& b);

// As decisions are kept in transcripts.
json::array to_json(const std::vector<Question>& questions);
std::vector<Question> questions_from(const json::array& in);

// The answer to one question: the labels chosen, or words of the user's own.
using UserAnswer = std::vector<std::string>;

// Reads one answer for each question from what a client wrote:
//   {"question or header": "answer", "another": ["several", "answers"]}
//   ["answer", ["several", "answers"]]   in the order of the questions
//   plain words: the answer to one question; to several, a line each, else all to the first
// Words that name an option (its label, its number, for a permission also yes, no and always)
// become its label; all others stay as they are. A question without an answer gets an empty one.
std::vector<UserAnswer> answers_from(const Ask& ask, std::string_view content);

}  // namespace reef::runtime
