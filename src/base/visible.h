// Foreign text on a terminal: nothing in it may drive the terminal, change the order of what is
// read, or be there unseen. Pure functions.
#pragma once

#include <string>
#include <string_view>

namespace reef::utf8 {

// Returns valid UTF-8 in which everything can be seen. Control characters become their pictures
// (U+241B for ESC); characters that reorder, hide or take no room become <U+202E>. Newlines and
// tabs stay, and so do joiners and variation selectors where emoji and scripts need them; a CR
// before a newline is dropped. A second call changes nothing more.
std::string visible(std::string_view text);

// Returns JSON that says the same, with all those characters as \u escapes.
std::string escape_unseen(std::string_view json);

// visible() for text that comes in pieces, which may cut a character.
class VisibleText {
 public:
  std::string take(std::string_view piece);
  // Returns the part of a character that was left at the end.
  std::string end();

 private:
  std::string left_;
};

}  // namespace reef::utf8
