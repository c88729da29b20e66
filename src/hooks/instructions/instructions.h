// Instruction files (Reef.md, AGENTS.md) that apply to a working directory: those of the home, then
// those of every folder from the root down to it. Blocks; for the pool, one call at a time.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"

namespace reef::hooks {

struct InstructionsRule {
  std::vector<std::string> files = {"Reef.md", "AGENTS.md"};
  std::size_t bytes_max = 32U << 10;  // of one file; all together may have four times as much
};

// Whether the name is a plain file name, without folders.
bool is_instructions_name(std::string_view name);

// Any thread.
class Instructions {
 public:
  // `home` is the daemon's; files below it are its own and not a project's.
  Instructions(Files& files, std::string home) : files_(files), home_(std::move(home)) {}

  // Returns the words for the prompt; empty when there are none. A file that cannot be read, or
  // belongs to another user, is left out: whoever may write to /tmp must not speak to our agents. A
  // file is read again only when it changed.
  std::string collect(const InstructionsRule& rule, const std::string& cwd);

 private:
  struct Known {
    std::uint64_t device = 0, inode = 0, size = 0;
    std::int64_t modified_ns = 0;
    std::size_t bytes_max = 0;
    std::string text;
  };
  const Known* look(const std::string& path, std::size_t bytes_max);

  Files& files_;
  const std::string home_;
  std::mutex mutex_;
  std::map<std::string, Known> known_;
};

}  // namespace reef::hooks
