// The keeper's program, which travels inside the daemon's: nothing to install, nothing that could
// be of another version.
#pragma once

#include "base/result.h"

namespace reef::process {

// A descriptor of the program, to be executed through /proc/self/fd. Made once, never closed.
Result<int> keeper_program();

}  // namespace reef::process
