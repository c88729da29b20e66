// All skills there are: those below the configured folders, in their order. Read from disk whenever
// somebody looks; of what did not change only the stat. Blocks, for the pool; any thread.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "skills/skill.h"

namespace reef::skills {

struct Found {
  Skill skill;
  std::string file;    // its SKILL.md
  std::string folder;  // that lies in, and what is bundled with it
  std::string root;    // the configured folder it was found below
};

struct Catalogue {
  std::vector<Found> skills;          // by name
  std::vector<std::string> problems;  // what was left out, and why

  const Found* find(std::string_view name) const;
};

// Those whose name or description has all the words; by name, case does not matter.
std::vector<const Found*> look_for(const Catalogue& catalogue, std::string_view words);

class Shelf {
 public:
  static constexpr std::size_t kDepthMax = 6;
  static constexpr std::size_t kFoldersMax = 2000;             // below one root
  static constexpr std::size_t kBundledMax = 200;              // files that are listed
  static constexpr std::size_t kBundledBytesMax = 256U << 10;  // of one that is read

  explicit Shelf(Files& files) : files_(files) {}

  // Of two skills with one name the first counts: the earlier root's, within one the first by path.
  // A root that is not there is a problem, unless it is the first, which is Reef's own.
  Catalogue look(const std::vector<std::string>& roots);
  // Its file is read again, whatever was known of it. not_found when there is none.
  Result<Found> load(const std::vector<std::string>& roots, std::string_view name);

  // Paths below its folder, without the SKILL.md and without what is hidden.
  std::vector<std::string> bundled(const Found& found) const;
  // The text of one of them. denied when the path leads out, unsupported when it is no text.
  Result<std::string> read_bundled(const Found& found, const std::string& path) const;

 private:
  struct Known {
    std::uint64_t size = 0;
    std::int64_t modified_ns = 0;
    Result<Skill> skill;
  };
  struct Walk;
  void visit(Walk& walk, const std::string& folder, std::size_t depth);
  Result<Skill> read(const std::string& folder, const std::string& name, bool again);

  Files& files_;
  std::mutex mutex_;
  std::map<std::string, Known> known_;  // by file
};

}  // namespace reef::skills
