// Finds the files that a conversation read and changed, by the arguments of its tool calls.
#pragma once

#include <set>
#include <span>
#include <string>

#include "session/entry.h"

namespace reef::context {

struct Files {
  std::set<std::string> read, written, edited;

  // Files that were written or edited.
  std::set<std::string> changed() const;
  // Files that were read and never changed.
  std::set<std::string> only_read() const;
};

Files files_of(std::span<const session::Entry* const> entries);
// Adds the files that an earlier compaction recorded in its entry's `details`.
void add_known(Files& files, const session::Entry& compaction);

}  // namespace reef::context
