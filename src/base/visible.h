// Text of others on a terminal: nothing in it may drive the terminal, change the order of what is
// read, or be there unseen. Pure functions.
#pragma once

#include <string>
#include <string_view>

namespace reef::utf8 {

// Valid UTF-8 in which everything can be seen: control characters as their pictures (U+241B for
// ESC), what reorders, hides or takes no room as <U+202E>. Newlines and tabs stay, CR before a
// newline goes; so do joiners and variation selectors where emoji and scripts need them. Done
// twice it changes nothing more.
std::string visible(std::string_view text);

// JSON that says the same, with all of that as \u escapes.
std::string escape_unseen(std::string_view json);

// visible() for text that comes in pieces, which may cut a character.
class VisibleText {
 public:
  std::string take(std::string_view piece);
  // What was cut at the end.
  std::string end();

 private:
  std::string left_;
};

}  // namespace reef::utf8
