// Invariants, checked in all builds. A failed one is a bug: it is printed with its place and the
// process stops before it can write anything wrong.
#pragma once

namespace reef {
[[noreturn]] void assert_failed(const char* condition, const char* file, int line);
}

#define REEF_ASSERT(condition) \
  ((condition) ? static_cast<void>(0) : ::reef::assert_failed(#condition, __FILE__, __LINE__))
