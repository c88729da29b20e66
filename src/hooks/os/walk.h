// Visits everything below a folder in the order of the names, a slice at a time. Links are not
// followed; .git, ignored folders, /proc, /sys, /dev and Reef's home are not entered. Blocks; one
// thread at a time.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "hooks/os/ignore.h"
#include "hooks/os/paths.h"

namespace reef::hooks::os {

struct Found {
  std::string path;      // absolute
  std::string relative;  // to the folder where the walk began
};

class Walk {
 public:
  static constexpr std::size_t kNamesMax = 100'000;  // of one folder; further names are skipped
  static constexpr std::size_t kDepthMax = 64;

  // `root` is a folder without links that the tools may read.
  Walk(PathRules paths, std::string root, bool respect_ignores);

  // Goes on for about `slice` and shows every file to `see`, until that returns false or done().
  // The first folder must exist; other folders that cannot be read are skipped.
  Status go_on(std::chrono::milliseconds slice, const std::function<bool(const Found&)>& see);
  bool done() const { return stack_.empty() && started_; }
  bool cut() const { return cut_; }  // some folder was too large or too deep

 private:
  struct Name {
    std::string text;
    bool folder;
  };
  struct Level {
    std::string path, relative;
    std::vector<Name> names;
    std::size_t next = 0;
    Ignore ignore;
  };
  Status enter(std::string path, std::string relative);
  bool ignored(const std::string& relative, bool folder) const;
  bool closed(const std::string& path) const;

  PathRules paths_;
  std::string root_;
  bool respect_ignores_;
  bool started_ = false;
  bool cut_ = false;
  std::vector<Level> stack_;
};

}  // namespace reef::hooks::os
