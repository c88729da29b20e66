// The text of events that may grow: pieces of it that follow each other are one event, and readers
// are given it in parts. Pure.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/utf8.h"
#include "runtime/event.h"

namespace reef::runtime {

// nullptr for events that do not grow.
inline const std::string* text_in(const Event& event) {
  if (const auto* chunk = std::get_if<Chunk>(&event)) return &chunk->text;
  if (const auto* thought = std::get_if<Thinking>(&event)) return &thought->text;
  if (const auto* progress = std::get_if<ToolProgress>(&event)) return &progress->text;
  return nullptr;
}
inline std::string* text_in(Event& event) {
  return const_cast<std::string*>(text_in(std::as_const(event)));
}

// The same with another text.
inline Event with_text(const Event& event, std::string text) {
  if (std::holds_alternative<Chunk>(event)) return Chunk{std::move(text)};
  if (std::holds_alternative<Thinking>(event)) return Thinking{std::move(text)};
  return ToolProgress{std::get<ToolProgress>(event).call_id, std::move(text)};
}

// The part of a non-empty rest that a reader is given at once: never a part of a character.
inline std::string_view part_of(std::string_view rest) {
  constexpr std::size_t kPieceBytesMax = 64U << 10;
  const auto part = utf8::prefix(rest, kPieceBytesMax);
  return part.empty() ? rest.substr(0, kPieceBytesMax) : part;
}

inline bool continues_a_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

}  // namespace reef::runtime
