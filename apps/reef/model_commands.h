// `reef models`, `reef providers`, `reef setup`: who answers. The group brings its own options.
#pragma once

#include <memory>

#include "context.h"

namespace CLI {
class App;
}

namespace reef::cli {

class ModelCommands {
 public:
  // Adds the commands; `json` is set when asked for.
  ModelCommands(CLI::App& app, bool& json);
  ~ModelCommands();

  // One of them was asked for.
  bool parsed() const;
  int run(const Context& context) const;

 private:
  struct Options;
  std::unique_ptr<Options> options_;
};

// What `reef setup` was told on the command line; what is empty is asked for.
struct SetupOptions {
  std::string kind, name, base_url, key, model, api_version;
  bool no_test = false;
  bool keep_default = false;
};
int run_setup(const Context& context, const SetupOptions& options);

// The verdict in words for people.
std::string describe(const protocol::ProviderVerdict& verdict);

}  // namespace reef::cli
