#include "base/visible.h"

#include <cstdint>

#include <fmt/format.h>

#include "base/utf8.h"

namespace reef::utf8 {
namespace {

struct Unseen {
  std::uint32_t first, last;
};

// Characters that take no room, reorder, or end lines where there is no newline.
constexpr Unseen kUnseen[] = {
    {0x7F, 0x9F},        // DEL and the controls of ISO 6429
    {0xAD, 0xAD},        // soft hyphen
    {0x34F, 0x34F},      // grapheme joiner
    {0x61C, 0x61C},      // Arabic letter mark
    {0x115F, 0x1160},    // Hangul fillers
    {0x17B4, 0x17B5},    // Khmer vowels without a shape
    {0x180B, 0x180F},    // Mongolian selectors and separator
    {0x200B, 0x200F},    // spaces without width, joiners, direction marks
    {0x2028, 0x202E},    // line and paragraph separators, embeddings, overrides
    {0x2060, 0x206F},    // joiner, operators without a shape, isolates
    {0x3164, 0x3164},    // Hangul filler
    {0xFE00, 0xFE0F},    // variation selectors
    {0xFEFF, 0xFEFF},    // byte order mark
    {0xFFA0, 0xFFA0},    // halfwidth Hangul filler
    {0xFFF0, 0xFFFB},    // interlinear annotation, and what is not assigned before it
    {0x1BCA0, 0x1BCA3},  // shorthand controls
    {0x1D173, 0x1D17A},  // musical controls
    {0xE0000, 0xE0FFF},  // tags, more variation selectors
};

bool is_unseen(std::uint32_t c) {
  if (c < 0x7F) return false;
  for (const auto& range : kUnseen)
    if (c >= range.first && c <= range.last) return true;
  return false;
}

bool is_joiner(std::uint32_t c) {
  return c == 0x200C || c == 0x200D;
}
bool is_selector(std::uint32_t c) {
  return (c >= 0xFE00 && c <= 0xFE0F) || (c >= 0xE0100 && c <= 0xE01EF);
}

// The valid character at the front; 0, and a length of 0, where there is none.
std::uint32_t decode(std::string_view text, std::size_t& length) {
  length = char_length(text);
  const auto byte = [&](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<std::uint8_t>(text[i]));
  };
  switch (length) {
    case 1:
      return byte(0);
    case 2:
      return (byte(0) & 0x1F) << 6 | (byte(1) & 0x3F);
    case 3:
      return (byte(0) & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
    case 4:
      return (byte(0) & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 |
             (byte(3) & 0x3F);
    default:
      length = 0;
      return 0;
  }
}

// Whether an unseen character is part of a letter or picture: between characters beyond ASCII,
// once.
bool belongs(std::uint32_t before, std::uint32_t c, std::string_view rest) {
  std::size_t length = 0;
  const auto next = rest.empty() ? 0 : decode(rest, length);
  if (is_selector(c))  // also 1, U+FE0F, U+20E3: a key
    return (before > 0x7F && !is_unseen(before)) || (before > 0x20 && next == 0x20E3);
  if (!is_joiner(c)) return false;
  return before > 0x9F && (!is_unseen(before) || is_selector(before)) && next > 0x9F &&
         !is_unseen(next);
}

}  // namespace

std::string visible(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  // The character before, if it was kept as it is.
  for (std::uint32_t before = 0, kept = 0; !text.empty(); before = kept) {
    std::size_t length = 0;
    kept = 0;
    const auto c = decode(text, length);
    const auto bytes = text.substr(0, length == 0 ? 1 : length);
    text.remove_prefix(bytes.size());
    if (length == 0) {
      out += "\xEF\xBF\xBD";
    } else if (c == '\n' || c == '\t') {
      out += bytes;
    } else if (c == '\r' && text.starts_with('\n')) {
      // the end of a line, as others write it
    } else if (c < 0x20 || c == 0x7F) {
      const auto picture = c == 0x7F ? 0x21 : c;  // U+2400 and on
      out += "\xE2\x90";
      out.push_back(static_cast<char>(0x80 + picture));
    } else if (is_unseen(c) && !belongs(before, c, text)) {
      out += fmt::format("<U+{:04X}>", c);
    } else {
      out += bytes;
      kept = c;
    }
  }
  return out;
}

std::string escape_unseen(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  while (!json.empty()) {
    std::size_t length = 0;
    const auto c = decode(json, length);
    if (length == 0 || !is_unseen(c)) {
      out += json.substr(0, length == 0 ? 1 : length);
    } else if (c < 0x10000) {
      out += fmt::format("\\u{:04x}", c);
    } else {
      out += fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + ((c - 0x10000) >> 10),
                         0xDC00 + ((c - 0x10000) & 0x3FF));
    }
    json.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

std::string VisibleText::take(std::string_view piece) {
  left_ += piece;
  // A character may have been cut, so stop before the last byte that could begin one.
  std::size_t whole = left_.size();
  for (std::size_t back = 1; back <= 3 && back <= left_.size(); ++back) {
    const auto byte = static_cast<std::uint8_t>(left_[left_.size() - back]);
    if ((byte & 0xC0U) == 0x80U) continue;
    const std::size_t wanted = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
    // A CR may belong to the newline that comes next.
    if (wanted > back || byte == '\r') whole = left_.size() - back;
    break;
  }
  auto out = visible(std::string_view(left_).substr(0, whole));
  left_.erase(0, whole);
  return out;
}

std::string VisibleText::end() {
  auto out = visible(left_);
  left_.clear();
  return out;
}

}  // namespace reef::utf8
