// `reef questions`, `answer`, `steer`, `kill`: what concerns turns that run. The group brings its
// own options, so that the program's main stays a table of contents.
#pragma once

#include <memory>

#include "context.h"

namespace CLI {
class App;
}

namespace reef::cli {

class RunCommands {
 public:
  // Adds the commands; `json` is set when asked for.
  RunCommands(CLI::App& app, bool& json);
  ~RunCommands();

  // One of them was asked for.
  bool parsed() const;
  int run(const Context& context) const;

 private:
  struct Options;
  std::unique_ptr<Options> options_;
};

}  // namespace reef::cli
