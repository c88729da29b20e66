// Turns deltas into events with their segments opened and closed, and keeps what was said: a reply
// that is cut short is still recorded. A silent reply is kept and makes no events; what could still
// become one is held back, and nothing else.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "context/silent.h"
#include "model/provider.h"
#include "runtime/event_log.h"

namespace reef::runtime {

// A reply must fit into one answer frame, with room for what is around it.
inline constexpr std::size_t kReplyBytesMax = 15U << 20;

class Segments {
 public:
  // What is told while it is said.
  struct Shown {
    bool text = true;  // else it is held, for take_held()
    bool thinking = true;
  };
  // Both outlive it.
  Segments(EventLog& events, const std::string& agent, Shown shown)
      : events_(events), agent_(agent), shown_(shown) {}

  void take(model::Delta delta);
  void close();
  // The text that was held back; once closed.
  std::string take_held() { return std::exchange(held_, {}); }

  bool started() const { return started_; }
  bool overflown() const { return said_bytes_ > kReplyBytesMax; }
  // Known for good once closed.
  bool silent() const { return gate_.silent(); }
  std::vector<session::Block> take_content() { return std::move(content_); }

 private:
  void show_text(std::string text);

  EventLog& events_;
  const std::string& agent_;
  const Shown shown_;
  std::string held_;
  std::optional<model::Delta::Kind> open_;
  bool text_shown_ = false;  // of the segment that is open
  context::SilentGate gate_;
  std::vector<session::Block> content_;
  std::size_t said_bytes_ = 0;
  bool started_ = false;
};

}  // namespace reef::runtime
