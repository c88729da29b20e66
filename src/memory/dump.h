// A memory as a tree of Markdown files for people and mdBook, and back: dumping and loading gives
// the same CRMEM, byte for byte. docs/memory.md has the layout. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/files.h"
#include "memory/crmem.h"

namespace reef::memory {

struct TreeFile {
  std::string path;  // relative to the tree, with '/'
  std::string bytes;
};

// Without book.toml, which belongs to the person once it is there.
std::vector<TreeFile> to_tree(const Contents& contents);
// What the files say. New ones get ids and the time `now` (Unix seconds). `invalid` names the file.
Result<Contents> from_tree(const std::vector<TreeFile>& files, std::uint64_t now);

// Writes the tree; of what is there, replaces the entries' files, SUMMARY.md and memory.json and
// leaves the rest alone. conflict when one of these was made by no dump; nothing has changed then.
Status write_tree(Files& files, const std::string& folder, const Contents& contents);
// The files from_tree() wants.
Result<std::vector<TreeFile>> read_tree(Files& files, const std::string& folder);

}  // namespace reef::memory
