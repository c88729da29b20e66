#include "base/assert.h"

#include <cstdio>
#include <cstdlib>

namespace reef {

void assert_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "reef: broken invariant at %s:%d: %s\n", file, line, condition);
  std::abort();
}

}  // namespace reef
