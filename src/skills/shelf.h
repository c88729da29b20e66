// All skills below the configured folders, in the order of the folders. Every call looks at the
// disk; an unchanged file costs only its stat. Blocks, so call it on the pool; any thread.
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
  std::string file;    // path of its SKILL.md
  std::string folder;  // the folder of that file and of what is bundled with it
  std::string root;    // the configured folder it was found below
};

struct Catalogue {
  std::vector<Found> skills;          // sorted by name
  std::vector<std::string> problems;  // what was left out, and why

  const Found* find(std::string_view name) const;
};

// Returns the skills whose name or description has all the words, by name; case does not matter.
std::vector<const Found*> look_for(const Catalogue& catalogue, std::string_view words);

class Shelf {
 public:
  static constexpr std::size_t kDepthMax = 6;
  static constexpr std::size_t kFoldersMax = 2000;             // below one root
  static constexpr std::size_t kBundledMax = 200;              // files listed
  static constexpr std::size_t kBundledBytesMax = 256U << 10;  // of a bundled file

  explicit Shelf(Files& files) : files_(files) {}

  // Of skills with the same name the first counts, by order of roots and then by path. A missing
  // root is a problem, except the first one, which is Reef's own.
  Catalogue look(const std::vector<std::string>& roots);
  // Reads the skill's file again even if it is known. Fails with not_found when there is none.
  Result<Found> load(const std::vector<std::string>& roots, std::string_view name);

  // Returns the paths below its folder, without the SKILL.md and hidden files.
  std::vector<std::string> bundled(const Found& found) const;
  // Reads a bundled file. Fails with denied when the path leads out, unsupported when it is not
  // text.
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
