// Recognises replies that begin with NO_REPLY: the agent was woken and has nothing to say.
#pragma once

#include <string>
#include <string_view>

namespace reef::context {

inline constexpr std::string_view kSilentToken = "NO_REPLY";

// The token must be a word of its own at the very beginning: "NO_REPLY", "NO_REPLY.", "NO_REPLY
// done".
// Not " NO_REPLY", "no_reply", "NO_REPLYING" or "NO_REPLY_2".
bool is_silent(std::string_view reply);

// Holds back text that could still become such a reply, and nothing else.
class SilentGate {
 public:
  // Returns the text that may be shown now.
  std::string take(std::string_view piece);
  // Returns the rest when the reply is over.
  std::string finish();
  bool silent() const { return state_ == State::silent; }

 private:
  enum class State : unsigned char { undecided, open, silent };
  State state_ = State::undecided;
  std::string held_;
};

}  // namespace reef::context
