// What people see of a change: hunks with numbered lines, the changed words in them, how much was
// left out between them. Pure; for the pool where files may be large.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "render/file_change.h"
#include "render/text.h"

namespace reef::render {

struct DiffLine {
  Change change = Change::keep;
  std::size_t old_number = 0, new_number = 0;  // from 1; 0: not in that file
  Line words = {};          // in colours, without its newline; changed words are marked
  bool no_newline = false;  // the file ends without one

  bool operator==(const DiffLine&) const = default;
};

struct Hunk {
  std::size_t unchanged_before = 0;  // lines that stay and are not shown, in front of it
  std::vector<DiffLine> lines;
};

struct FileDiff {
  enum class Kind : std::uint8_t { changed, created, removed, renamed, binary, too_large };
  Kind kind = Kind::changed;
  std::string old_name, new_name;
  std::size_t added = 0, removed = 0;
  std::vector<Hunk> hunks;
  bool cut = false;  // more is changed than is shown
};

struct DiffOptions {
  std::size_t around = 3;         // lines shown around a change
  std::size_t lines_max = 5'000;  // shown of one file
  bool colours = true;            // of the language the file's name tells
};

FileDiff diff_of(const FileChange& file, const DiffOptions& options = {});

// Marks the words of `removed` and `added` that differ. Lines that have little in common are left
// as they are: everything would be marked.
void mark_words(Line& removed, Line& added);

// "src/a.cpp", "new file src/a.cpp", "src/a.cpp → src/b.cpp", with the number of lines.
Line title_of(const FileDiff& diff);
// The lines of a diff below its title for a face made of cells.
std::vector<Line> lay_out(const FileDiff& diff, std::size_t width);

}  // namespace reef::render
