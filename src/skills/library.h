// The shelf as the loop sees it: what blocks is done by the pool. Loop thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/pool.h"
#include "skills/shelf.h"

namespace reef::skills {

class Library {
 public:
  // Both outlive it. `own` is Reef's own folder, which comes before those that are configured.
  Library(Files& files, Pool& pool, std::string own)
      : pool_(pool), shelf_(files), own_(std::move(own)), roots_{own_} {}

  // Absolute paths, in order.
  void configure(const std::vector<std::string>& paths);

  Task<Catalogue> look();

  struct Opened {
    Found found;
    std::vector<std::string> files;   // bundled with it
    std::optional<std::string> text;  // of the one that was asked for
  };
  // Fresh from disk. `file`, when not empty, is one that is bundled with it.
  Task<Result<Opened>> open(std::string name, std::string file = std::string());

 private:
  Pool& pool_;
  Shelf shelf_;
  const std::string own_;
  std::vector<std::string> roots_;
};

}  // namespace reef::skills
