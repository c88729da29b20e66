// The change of one file as steps over its lines: made of two texts, read from a unified diff, put
// together with the change that came after it, written as a unified diff. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "render/compare.h"

namespace reef::render {

// Lines that stay, come or go. Of those that stay and stand in no hunk only the number is known.
struct Step {
  Change change = Change::keep;
  std::string line = {};    // with its newline, if it has one
  std::size_t unknown = 0;  // so many lines that stay; `line` is empty then

  bool operator==(const Step&) const = default;
};

struct FileChange {
  std::string old_name, new_name;  // empty: there is no such file
  std::vector<Step> steps;         // what stands behind the last one stays
  bool binary = false;
  bool cut = false;  // the diff it was read from was cut short

  std::size_t added() const;
  std::size_t removed() const;
};

struct ChangeOptions {
  std::size_t bytes_max =
      4U << 20;  // of both texts together; beyond it only that they differ is said
};

// An empty name: there was no file, or there is none any more. A text with a NUL byte is binary.
FileChange make_change(std::string_view old_name, std::string_view before,
                       std::string_view new_name, std::string_view after,
                       const ChangeOptions& options = {});

// Every file of a unified diff, as git and Reef's tools write them; what is none is passed over.
std::vector<FileChange> read_changes(std::string_view unified);

// One change that does what both do, one after the other, to one file. Lines that came and went
// again are in neither.
FileChange compose(const FileChange& first, const FileChange& then);

// The changes of several edits, a file once, in the order they were first touched. A file that went
// and came back under another name with mostly the same lines is one that was renamed; one that is
// as it was is left out.
std::vector<FileChange> combine(const std::vector<FileChange>& edits);

// A unified diff with `around` lines around each change.
std::string unified(const FileChange& file, std::size_t around = 3);

}  // namespace reef::render
