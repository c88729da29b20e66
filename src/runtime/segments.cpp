#include "runtime/segments.h"

namespace reef::runtime {

void Segments::take(model::Delta delta) {
  using Kind = model::Delta::Kind;
  started_ = true;
  if (delta.kind == Kind::tool_call) return close();
  said_bytes_ += delta.text.size();
  if (overflown()) return;
  if (open_ != delta.kind) {
    close();
    if (delta.kind == Kind::text) {
      content_.push_back(session::TextBlock{});
    } else {
      if (shown_.thinking) events_.push(ThinkingStart{agent_});
      content_.push_back(session::ThinkingBlock{});
    }
    open_ = delta.kind;
  }
  if (delta.kind == Kind::text) {
    std::get<session::TextBlock>(content_.back()).text += delta.text;
    show_text(gate_.take(delta.text));
  } else {
    std::get<session::ThinkingBlock>(content_.back()).thinking += delta.text;
    if (shown_.thinking) events_.push(Thinking{std::move(delta.text)});
  }
}

void Segments::show_text(std::string text) {
  if (text.empty()) return;
  if (!shown_.text) {
    held_ += text;
    return;
  }
  if (!text_shown_) events_.push(TextStart{agent_});
  text_shown_ = true;
  events_.push(Chunk{std::move(text)});
}

void Segments::close() {
  if (open_ == model::Delta::Kind::text) {
    // The first word ends here, so the gate can decide.
    show_text(gate_.finish());
    if (text_shown_) events_.push(TextEnd{agent_});
    text_shown_ = false;
  }
  if (open_ == model::Delta::Kind::thinking && shown_.thinking) events_.push(ThinkingEnd{agent_});
  open_.reset();
}

}  // namespace reef::runtime
