// The keeper's program is part of the daemon's, so that it need not be installed and cannot have
// another version.
#pragma once

#include "base/result.h"

namespace reef::process {

// A descriptor of the program, to be executed through /proc/self/fd. Made once and never closed.
Result<int> keeper_program();

}  // namespace reef::process
