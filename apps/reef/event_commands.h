// `reef events ...`: what happens in all conversations. The group brings its own options.
#pragma once

#include <memory>

#include "context.h"

namespace CLI {
class App;
}

namespace reef::cli {

class EventCommands {
 public:
  // Adds the commands; `json` is set when asked for.
  EventCommands(CLI::App& app, bool& json);
  ~EventCommands();

  // One of them was asked for.
  bool parsed() const;
  int run(const Context& context) const;

 private:
  struct Options;
  std::unique_ptr<Options> options_;
};

}  // namespace reef::cli
