// The operations on agents call these functions of the daemon. A change that returns Ok is durable
// and in force.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "base/task.h"

namespace reef::server {

struct Agents {
  using Write =
      std::function<Task<Status>(std::string name, std::string config, std::string prompt)>;
  Write create, update;
  std::function<Task<Status>(std::string from, std::string to)> rename;
  std::function<Task<Status>(std::string name)> remove;
};

}  // namespace reef::server
