// `reef agents ...`: who answers. The group brings its own options.
#pragma once

#include <memory>

#include "context.h"

namespace CLI {
class App;
}

namespace reef::cli {

class AgentCommands {
 public:
  // Adds the commands; `json` is set when asked for.
  AgentCommands(CLI::App& app, bool& json);
  ~AgentCommands();

  // One of them was asked for.
  bool parsed() const;
  int run(const Context& context) const;

 private:
  struct Options;
  std::unique_ptr<Options> options_;
};

}  // namespace reef::cli
