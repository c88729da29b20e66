// Which files a conversation read and changed, by what its tools were called with.
#pragma once

#include <set>
#include <span>
#include <string>

#include "session/entry.h"

namespace reef::context {

struct Files {
  std::set<std::string> read, written, edited;

  // Written or edited.
  std::set<std::string> changed() const;
  // And never changed.
  std::set<std::string> only_read() const;
};

Files files_of(std::span<const session::Entry* const> entries);
// Adds those an earlier compaction knew (`details` of its entry).
void add_known(Files& files, const session::Entry& compaction);

}  // namespace reef::context
