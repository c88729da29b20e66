// Gives the loop access to the Shelf; the pool does what blocks. Loop thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/pool.h"
#include "skills/shelf.h"

namespace reef::skills {

class Library {
 public:
  // `files` and `pool` must outlive it. `own` is Reef's own folder, which precedes the configured
  // ones.
  Library(Files& files, Pool& pool, std::string own)
      : files_(files), pool_(pool), shelf_(files), own_(std::move(own)), roots_{own_} {}

  // The paths must be absolute; their order counts.
  void configure(const std::vector<std::string>& paths);

  Task<Catalogue> look();

  struct Opened {
    Found found;
    std::vector<std::string> files;   // bundled with the skill
    std::optional<std::string> text;  // of the file that was asked for
  };
  // Reads the skill from disk. `file`, unless empty, is one of its bundled files to read.
  Task<Result<Opened>> open(std::string name, std::string file = std::string());

 private:
  // Whether there is no folder to look into. One look at Reef's own folder, on the loop.
  bool is_bare() const;

  Files& files_;
  Pool& pool_;
  Shelf shelf_;
  const std::string own_;
  std::vector<std::string> roots_;
};

}  // namespace reef::skills
