// Turns a memory into a tree of Markdown files for people and mdBook, and back: a dump that is
// loaded gives the same CRMEM, byte for byte. docs/memory.md has the layout. Any thread.
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

// Returns the tree without book.toml, which belongs to the person once it exists.
std::vector<TreeFile> to_tree(const Contents& contents);
// Reads entries from the files. New ones get ids and the time `now` (Unix seconds). The error
// `invalid` names the file.
Result<Contents> from_tree(const std::vector<TreeFile>& files, std::uint64_t now);

// Writes the tree. Replaces the entries' files, SUMMARY.md and memory.json and leaves everything
// else alone. Fails with conflict, before changing anything, when no dump made one of these files.
Status write_tree(Files& files, const std::string& folder, const Contents& contents);
// Reads the files that from_tree() takes.
Result<std::vector<TreeFile>> read_tree(Files& files, const std::string& folder);

}  // namespace reef::memory
