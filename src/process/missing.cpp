#include <algorithm>

#include "process/keeper/kernel.h"
#include "process/pretence.h"
#include "process/process.h"

namespace reef::process {
namespace {

int landlock_max = 1000;

}  // namespace

void pretend_landlock(int version_max) {
  landlock_max = version_max;
}

int usable_landlock() {
  return std::min(landlock_version(), landlock_max);
}

std::string what_is_missing(const Sandbox& sandbox) {
  std::string missing;
  const auto add = [&missing](const char* what) {
    if (!missing.empty()) missing += "; ";
    missing += what;
  };
  const int landlock = usable_landlock();
  const bool seccomp = has_seccomp();
  if (sandbox.read_only) {
    if (landlock == 0)
      add("files can be written: this kernel has no Landlock (Linux 5.13, lsm=landlock)");
    else if (landlock < 3 && !seccomp)
      add("files can be emptied: this kernel's Landlock is older than Linux 6.2");
    if (landlock > 0 && landlock < 5 && !seccomp)
      add("devices can be told to change: this kernel's Landlock is older than Linux 6.10");
    if (!seccomp)
      add("modes, owners, times and attributes of files can be changed: this kernel has no seccomp "
          "filters");
    if (landlock < 6 && !seccomp)
      add("other processes can be signalled: this kernel's Landlock is older than Linux 6.12");
    if (landlock < 6 && seccomp)
      add("a command cannot signal even its own processes (kill, timeout): this kernel's Landlock "
          "is "
          "older than Linux 6.12");
  }
  if (sandbox.no_network && !seccomp)
    add(landlock >= 4 ? "UDP and Unix sockets can be used: this kernel has no seccomp filters"
                      : "the network can be used: this kernel has no seccomp filters");
  return missing;
}

}  // namespace reef::process
