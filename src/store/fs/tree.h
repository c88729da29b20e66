// Folders with everything in them, whoever made it. Links are never followed: what they point to is
// somebody else's. Any thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "base/files.h"
#include "base/result.h"

namespace reef::store {

// An entry of `parent`; none when it is not a directory of its own.
Fd open_directory(int parent, const char* name);
// Of all files; what cannot be read counts nothing.
std::uint64_t tree_bytes(const std::string& folder);
// The last change of the folder's own name, place or rights.
TimePoint changed_at(const std::string& folder);
// What is gone already is fine.
Status remove_tree(const std::string& folder);

}  // namespace reef::store
