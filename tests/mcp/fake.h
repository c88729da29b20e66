// The fake server (fake_server.py) for tests of peers and pools.
#pragma once

#include <string>
#include <vector>

#include "mcp/mcp.h"
#include "support/run.h"
#include "support/temp_dir.h"

namespace reef::mcp::test {

inline Spec fake(std::vector<std::string> args = {}) {
  Spec spec;
  spec.name = "fake";
  spec.command = "python3";
  spec.args = {"-B", REEF_FAKE_MCP};
  for (auto& arg : args) spec.args.push_back(std::move(arg));
  spec.timeout = std::chrono::seconds(20);
  return spec;
}

}  // namespace reef::mcp::test
