// What a plain message of a transcript says, read off its line without making a tree of it: for
// windows, which show much and are read often, and for reading all transcripts. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "recall/document.h"

namespace reef::recall {

struct Peek {
  std::string entry;
  std::string time;  // as it is written
  std::string tool;
  std::string agent;  // not found by peek_text
  Role role = Role::user;
  bool hidden = false;
  std::string text;  // at most bytes_max, and one byte more when there is more
};

// The line may be cut where enough of it has been read. False: not a line this is made for, a
// damaged one, or one that calls tools beside what it says; read_line says what it holds. Whoever
// reads many uses one Peek for all, and its memory.
bool peek(std::string_view line, std::size_t bytes_max, Peek& into);
// Of a line known to call no tools, of no guest, up to the end of what it says: what stands behind
// that, like `hidden`, is not looked at. The bytes may go on behind the line.
bool peek_text(std::string_view bytes, std::size_t bytes_max, Peek& into);

}  // namespace reef::recall
