// Folders with everything in them, whoever made it. Links are never followed, because what they
// point to belongs to somebody else. Any thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "base/files.h"
#include "base/result.h"

namespace reef::store {

// Opens an entry of `parent`; empty when it is a link or no directory.
Fd open_directory(int parent, const char* name);
// The bytes of all files in a folder; a file that cannot be read counts nothing.
std::uint64_t tree_bytes(const std::string& folder);
// The last change of the folder's own name, place or rights.
TimePoint changed_at(const std::string& folder);
// Removes a folder with everything in it; no error when it is gone already.
Status remove_tree(const std::string& folder);

}  // namespace reef::store
