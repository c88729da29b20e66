// `reef memory ...`: what agents remember. The group brings its own options, so that the program's
// main stays a table of contents.
#pragma once

#include <memory>

#include "context.h"

namespace CLI {
class App;
}

namespace reef::cli {

class MemoryCommands {
 public:
  // Adds the commands; `json` is set when asked for.
  MemoryCommands(CLI::App& app, bool& json);
  ~MemoryCommands();

  // One of them was asked for.
  bool parsed() const;
  int run(const Context& context) const;

 private:
  struct Options;
  std::unique_ptr<Options> options_;
};

}  // namespace reef::cli
