#include "shell/lists.h"

#include <fstream>
#include <stdexcept>

namespace reef::test {

std::vector<Listed> read_list(const std::string& name) {
  std::ifstream file(REEF_SHELL_LISTS "/" + name);
  if (!file) throw std::runtime_error("no list " + name);
  std::vector<Listed> list;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.empty() || line.starts_with("## ")) continue;
    Listed listed;
    listed.line = number;
    listed.uncertain = line.starts_with("? ");
    listed.for_machine = line.starts_with("!! ");
    if (listed.uncertain || listed.for_machine) line.erase(0, line.find(' ') + 1);
    static const std::string kNewline = "␤";
    for (auto at = line.find(kNewline); at != std::string::npos; at = line.find(kNewline, at))
      line.replace(at, kNewline.size(), "\n");
    listed.command = line;
    list.push_back(std::move(listed));
  }
  return list;
}

}  // namespace reef::test
