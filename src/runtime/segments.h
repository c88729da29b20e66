// Turns deltas into events whose segments it opens and closes, and keeps what was said, so that a
// reply that is cut short is still recorded. A silent reply is kept and makes no events; only text
// that could still become one is held back.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "context/silent.h"
#include "model/provider.h"
#include "runtime/event_log.h"

namespace reef::runtime {

// A reply must fit into one answer frame, with room for the rest of the frame.
inline constexpr std::size_t kReplyBytesMax = 15U << 20;

class Segments {
 public:
  // These parts are shown while they are said.
  struct Shown {
    bool text = true;  // else it is held for take_held()
    bool thinking = true;
  };
  // Both references outlive it.
  Segments(EventLog& events, const std::string& agent, Shown shown)
      : events_(events), agent_(agent), shown_(shown) {}

  void take(model::Delta delta);
  void close();
  // Returns the text that was held back; call it after close().
  std::string take_held() { return std::exchange(held_, {}); }

  bool started() const { return started_; }
  bool overflown() const { return said_bytes_ > kReplyBytesMax; }
  // Final after close().
  bool silent() const { return gate_.silent(); }
  std::vector<session::Block> take_content() { return std::move(content_); }

 private:
  void show_text(std::string text);

  EventLog& events_;
  const std::string& agent_;
  const Shown shown_;
  std::string held_;
  std::optional<model::Delta::Kind> open_;
  bool text_shown_ = false;  // whether the open segment was shown
  context::SilentGate gate_;
  std::vector<session::Block> content_;
  std::size_t said_bytes_ = 0;
  bool started_ = false;
};

}  // namespace reef::runtime
