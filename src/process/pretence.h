// For tests: a kernel that can do less than the one we run on.
#pragma once

namespace reef::process {

// Children started from now on, and what_is_missing(), know this version of Landlock at most.
void pretend_landlock(int version_max);

// What this kernel has, or pretends to.
int usable_landlock();

}  // namespace reef::process
