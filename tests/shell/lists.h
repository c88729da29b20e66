// The lists of commands next to this file.
#pragma once

#include <string>
#include <vector>

namespace reef::test {

struct Listed {
  std::string command;
  bool uncertain = false;    // marked "? ": may not work everywhere
  bool for_machine = false;  // marked "!! ": never run without the sandbox
  int line = 0;
};

std::vector<Listed> read_list(const std::string& name);

}  // namespace reef::test
