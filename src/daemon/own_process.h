// What the daemon's process is to the kernel and to its allocator. Called once, before anything
// else; any thread.
#pragma once

#include <cstdint>
#include <sys/types.h>

namespace reef::daemon {

// Returns the umask of the user, which the process no longer has.
mode_t prepare_process();

// The memory of this process that is really there.
std::uint64_t resident_bytes();

}  // namespace reef::daemon
