#include "render/width.h"

#include <algorithm>

#include <utf8proc.h>

namespace reef::render {
namespace {

struct Point {
  utf8proc_int32_t value = 0xFFFD;
  std::size_t bytes = 1;
};

Point point_at(std::string_view text) {
  Point out;
  utf8proc_int32_t value = -1;
  const auto size = utf8proc_iterate(
      reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
      static_cast<utf8proc_ssize_t>(std::min<std::size_t>(text.size(), 4)), &value);
  if (size > 0 && value >= 0) out = {value, static_cast<std::size_t>(size)};
  return out;
}

bool is_ascii(char c) {
  return static_cast<unsigned char>(c) < 0x80;
}

// A picture by itself, or with a selector behind it that asks for the picture.
bool is_picture(utf8proc_int32_t c) {
  const auto* property = utf8proc_get_property(c);
  return property->boundclass == UTF8PROC_BOUNDCLASS_EXTENDED_PICTOGRAPHIC ||
         property->boundclass == UTF8PROC_BOUNDCLASS_E_ZWG;
}

bool is_flag_letter(utf8proc_int32_t c) {
  return c >= 0x1F1E6 && c <= 0x1F1FF;
}

constexpr utf8proc_int32_t kPictureSelector = 0xFE0F;
constexpr utf8proc_int32_t kTextSelector = 0xFE0E;
constexpr utf8proc_int32_t kKeycap = 0x20E3;

}  // namespace

Grapheme first_grapheme(std::string_view text) {
  // Two letters of ASCII never make one character, but for CR and LF, which text here has not.
  if (text.size() == 1 || (is_ascii(text[0]) && is_ascii(text[1]))) {
    const auto c = static_cast<unsigned char>(text[0]);
    return {text.substr(0, 1), c >= 0x20 && c < 0x7F ? 1U : 0U};
  }
  auto before = point_at(text);
  const auto first = before.value;
  std::size_t size = before.bytes;
  std::size_t cells = static_cast<std::size_t>(std::max(0, utf8proc_charwidth(first)));
  utf8proc_int32_t state = 0;
  while (size < text.size()) {
    const auto next = point_at(text.substr(size));
    if (utf8proc_grapheme_break_stateful(before.value, next.value, &state)) break;
    // Terminals give a flag, a joined emoji, a picture that was asked for and a key two cells.
    if (is_flag_letter(first) && is_flag_letter(next.value)) cells = 2;
    if (next.value == kPictureSelector && (is_picture(first) || cells == 1)) cells = 2;
    if (next.value == kTextSelector && is_picture(first)) cells = 1;
    if (next.value == kKeycap) cells = 2;
    if (cells == 0) cells = static_cast<std::size_t>(std::max(0, utf8proc_charwidth(next.value)));
    size += next.bytes;
    before = next;
  }
  return {text.substr(0, size), std::min<std::size_t>(cells, 2)};
}

std::size_t width(std::string_view text) {
  std::size_t cells = 0;
  while (!text.empty()) {
    const auto next = first_grapheme(text);
    cells += next.cells;
    text.remove_prefix(next.bytes.size());
  }
  return cells;
}

std::string_view prefix_of_width(std::string_view text, std::size_t cells) {
  std::size_t size = 0;
  while (size < text.size()) {
    const auto next = first_grapheme(text.substr(size));
    if (next.cells > cells) break;
    cells -= next.cells;
    size += next.bytes.size();
  }
  return text.substr(0, size);
}

std::string fitted(std::string_view text, std::size_t cells) {
  if (width(text) <= cells) return std::string(text);
  if (cells == 0) return {};
  return std::string(prefix_of_width(text, cells - 1)) + "…";
}

}  // namespace reef::render
