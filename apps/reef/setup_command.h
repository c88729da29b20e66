// `reef setup`: sets up a provider, step by step.
#pragma once

#include <string>

#include "context.h"

namespace reef::cli {

// The options of `reef setup` from the command line; empty ones are asked for.
struct SetupOptions {
  std::string kind, name, base_url, key, model, api_version;
  bool no_test = false;
  bool keep_default = false;
};
int run_setup(const Context& context, const SetupOptions& options);

// The verdict in words for people.
std::string describe(const protocol::ProviderVerdict& verdict);

}  // namespace reef::cli
