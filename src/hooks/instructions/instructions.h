// Instruction files (Reef.md, AGENTS.md) that apply to a working directory: those of the home, then
// those of every folder from the root down to it. Blocks; for the pool, one call at a time.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "session/documents.h"

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
  // `files` are those of working directories. `home` is what the daemon's home is called in the
  // words; what lies below a folder of that path is its own, not that of a project.
  Instructions(Files& files, session::Documents& documents, std::string home)
      : files_(files), documents_(documents), home_(std::move(home)) {}

  // The words for the prompt; empty when there are none. A file that cannot be read, or is another
  // user's, is left out: whoever may write to /tmp must not speak to our agents. One of a folder is
  // read again only when it changed.
  std::string collect(const InstructionsRule& rule, const std::string& cwd);
  // Whether the home has no such file. Does not block, so it may be asked on the loop.
  bool has_none_of_home(const InstructionsRule& rule);

 private:
  struct Known {
    std::uint64_t device = 0, inode = 0, size = 0;
    std::int64_t modified_ns = 0;
    std::size_t bytes_max = 0;
    std::string text;
  };
  const Known* look(const std::string& path, std::size_t bytes_max);
  // The home's; empty when there is none.
  std::string read_own(const std::string& name, std::size_t bytes_max);

  Files& files_;
  session::Documents& documents_;
  const std::string home_;
  std::mutex mutex_;
  std::map<std::string, Known> known_;
};

}  // namespace reef::hooks
