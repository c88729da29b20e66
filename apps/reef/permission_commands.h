// `reef permissions`, `mode`, `plans` and `plan`: what agents may do, and what they would like to.
#pragma once

#include <memory>

#include "context.h"

namespace CLI {
class App;
}

namespace reef::cli {

class PermissionCommands {
 public:
  // Adds the commands; `json` is set when asked for.
  PermissionCommands(CLI::App& app, bool& json);
  ~PermissionCommands();

  // One of them was asked for.
  bool parsed() const;
  int run(const Context& context) const;

 private:
  struct Options;
  std::unique_ptr<Options> options_;
};

}  // namespace reef::cli
