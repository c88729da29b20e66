// For tests: pretends that the kernel can do less than it can.
#pragma once

namespace reef::process {

// Children started from now on, and what_is_missing(), use at most this version of Landlock.
void pretend_landlock(int version_max);

// The version this kernel has, or pretends to have.
int usable_landlock();

}  // namespace reef::process
