// Reads a plain message straight from its transcript line, without building a tree: for windows,
// which show many messages and are read often, and for reading all transcripts. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "recall/document.h"

namespace reef::recall {

struct Peek {
  std::string entry;
  std::string time;  // as written in the line
  std::string tool;
  std::string agent;  // left empty by peek_text
  Role role = Role::user;
  bool hidden = false;
  std::string text;  // at most bytes_max bytes, plus one byte when the text is longer
};

// The line may be cut after enough of it has been read. Returns false when the line is damaged, of
// another kind, or calls tools beside saying something; use read_line then. A caller that reads
// many lines should reuse one Peek and its memory.
bool peek(std::string_view line, std::size_t bytes_max, Peek& into);
// For a line known to call no tools and to come from no guest. Stops at the end of the text, so
// fields behind it, like `hidden`, are not looked at. The bytes may continue beyond the line.
bool peek_text(std::string_view bytes, std::size_t bytes_max, Peek& into);

}  // namespace reef::recall
