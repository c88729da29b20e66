// .gitignore files, as git reads them. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hooks/os/pattern.h"

namespace reef::hooks::os {

class Ignore {
 public:
  // Parses the rules of one file; lines that are not patterns are left out.
  static Ignore parse(std::string_view text);

  enum class Verdict : unsigned char { silent, ignored, kept };
  // `path` is relative to the folder of the file. The last rule that fits decides.
  Verdict judge(std::string_view path, bool folder) const;
  bool empty() const { return rules_.empty(); }

 private:
  struct Rule {
    Pattern pattern;
    bool keep = false;      // !pattern
    bool folders = false;   // pattern/
    bool anywhere = false;  // no slash in it: fits a name in any folder
  };
  std::vector<Rule> rules_;
};

}  // namespace reef::hooks::os
