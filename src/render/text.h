// Styled text: what a face draws. A style says what a piece of text is, never how it looks. Values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace reef::render {

// The kind of a span's text; a theme gives each a colour.
enum class Role : std::uint8_t {
  plain,
  comment,
  string,
  number,
  keyword,
  type,      // of a language, and what is built in
  function,  // a name in front of a parenthesis
  heading,   // of a document, and the head lines of a diff
  added,
  removed,
  link,
  mark,  // what the renderer adds itself: bullets, bars, lines of tables
};

struct Style {
  Role role = Role::plain;
  bool bold = false;
  bool italic = false;
  bool strike = false;
  bool code = false;     // in a line of other words
  bool changed = false;  // the words of a changed line that are really other words

  bool operator==(const Style&) const = default;
};

inline constexpr Style kMark{.role = Role::mark};

// Text of one style: valid UTF-8 in which everything can be seen (utf8::visible), without newlines
// but where a function says so.
struct Span {
  std::string text;
  Style style = {};
  std::string link = {};  // where it leads: http, https or mailto; empty: nowhere

  bool operator==(const Span&) const = default;
};
using Line = std::vector<Span>;

// Adds text to a line; joins it to the last span when that looks the same.
void add(Line& line, std::string_view text, const Style& style = {}, std::string_view link = {});
// The words of a line without their styles.
std::string plain(const Line& line);
std::string plain(const std::vector<Line>& lines);  // each with a newline behind it

}  // namespace reef::render
