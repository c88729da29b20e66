#include "base/utf8.h"

namespace reef::utf8 {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

}  // namespace

std::size_t char_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const auto continues = [&](std::size_t i) {
    return i < text.size() && (byte(i) & 0xC0U) == 0x80U;
  };
  const std::uint8_t lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead < 0xC2) return 0;  // stray continuation, or an overlong two-byte form
  if (lead < 0xE0) return continues(1) ? 2 : 0;
  if (lead < 0xF0) {
    if (!continues(1) || !continues(2)) return 0;
    if (lead == 0xE0 && byte(1) < 0xA0) return 0;  // overlong
    if (lead == 0xED && byte(1) > 0x9F) return 0;  // surrogate
    return 3;
  }
  if (lead < 0xF5) {
    if (!continues(1) || !continues(2) || !continues(3)) return 0;
    if (lead == 0xF0 && byte(1) < 0x90) return 0;  // overlong
    if (lead == 0xF4 && byte(1) > 0x8F) return 0;  // above U+10FFFF
    return 4;
  }
  return 0;
}

void append(std::string& out, std::uint32_t point) {
  if (point > 0x10FFFF || (point >= 0xD800 && point < 0xE000)) point = 0xFFFD;
  if (point < 0x80) {
    out += static_cast<char>(point);
    return;
  }
  const auto tail = [&](unsigned shift) {
    out += static_cast<char>(0x80 | (point >> shift & 0x3F));
  };
  if (point < 0x800) {
    out += static_cast<char>(0xC0 | point >> 6);
  } else if (point < 0x10000) {
    out += static_cast<char>(0xE0 | point >> 12);
    tail(6);
  } else {
    out += static_cast<char>(0xF0 | point >> 18);
    tail(12);
    tail(6);
  }
  tail(0);
}

bool valid(std::string_view text) {
  while (!text.empty()) {
    const auto length = char_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string sanitize(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto length = char_length(text);
    if (length == 0) {
      out += kReplacement;
      text.remove_prefix(1);
    } else {
      out += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  return out;
}

std::string_view prefix(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  std::size_t end = bytes_max;
  while (end > 0 && (static_cast<std::uint8_t>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end);
}

std::string_view prefix_chars(std::string_view text, std::size_t chars_max) {
  std::size_t end = 0;
  for (std::size_t count = 0; end < text.size() && count < chars_max; ++count) {
    const auto length = char_length(text.substr(end));
    end += length == 0 ? 1 : length;
  }
  return text.substr(0, end);
}

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto length = char_length(text);
    if (length == 0) {
      out += kReplacement;
      text.remove_prefix(1);
      continue;
    }
    const auto lead = static_cast<std::uint8_t>(text[0]);
    const bool control =
        (length == 1 && ((lead < 0x20 && lead != '\n' && lead != '\t') || lead == 0x7F)) ||
        (length == 2 && lead == 0xC2 && static_cast<std::uint8_t>(text[1]) < 0xA0);
    // U+202A to U+202E, U+2066 to U+2069: embeddings, overrides, isolates.
    const auto last = static_cast<std::uint8_t>(text[length - 1]);
    const bool reorders =
        length == 3 && ((text.starts_with("\xE2\x80") && last >= 0xAA && last <= 0xAE) ||
                        (text.starts_with("\xE2\x81") && last >= 0xA6 && last <= 0xA9));
    if (!control && !reorders) out += text.substr(0, length);
    text.remove_prefix(length);
  }
  return out;
}

std::string lower_ascii(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

std::string excerpt(std::string_view text, std::size_t bytes_max) {
  const auto head = prefix(text, bytes_max);
  auto out = single_line(printable(head));
  if (head.size() < text.size()) out += "...";
  return out;
}

std::string single_line(std::string_view text) {
  std::string out;
  bool gap = false;
  for (const char c : text) {
    if (c == ' ' || c == '\n' || c == '\r' || c == '\t') {
      gap = !out.empty();
      continue;
    }
    if (gap) out.push_back(' ');
    gap = false;
    out.push_back(c);
  }
  return out;
}

}  // namespace reef::utf8
