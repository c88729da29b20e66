// Code in colours: comments, strings, numbers, words of the language. Not a parser: it is never
// wrong about what the text says, only sometimes about its colour. Linear time. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "render/text.h"

namespace reef::render {

struct Language;  // languages.h

// By a name that people write behind a fence (`py`, `c++`, `Rust`) or by the name of a file
// (`src/main.rs`, `Makefile`); nullptr when it is not known.
const Language* find_language(std::string_view name);
const Language* language_of_file(std::string_view path);
// Every name under which some language is found, for completion and tests.
std::vector<std::string_view> language_names();

// Colours code line by line, as it comes: what a line begins in (a comment, a string of several
// lines) is known from those before.
class Highlighter {
 public:
  // nullptr: no colours.
  explicit Highlighter(const Language* language) : language_(language) {}

  // A line without its newline.
  Line next(std::string_view line);

 private:
  friend class LinePainter;
  const Language* language_;
  // Open at the end of the last line: nothing, a comment, or the string of this number.
  enum class Open : std::uint8_t { nothing, comment, text };
  Open open_ = Open::nothing;
  std::size_t depth_ = 0;   // of comments within comments
  std::size_t string_ = 0;  // which of the language's strings is open
  bool head_ = true;        // of a diff: the lines in front of the first hunk
};

// All lines of a code, coloured. Longer code than a megabyte has no colours.
std::vector<Line> highlight(const Language* language, std::string_view code);

}  // namespace reef::render
