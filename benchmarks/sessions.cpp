#include "sessions.h"

#include <fmt/format.h>
#include <malloc.h>

#include "groups.h"
#include "process.h"

namespace reef::benchmarks {

Status sessions() {
  // The daemon sets this too, and it decides how much pool threads disturb each other.
  ::mallopt(M_ARENA_MAX, 2);
  REEF_TRY(const Scratch scratch, Scratch::make());
  const auto pi = Pi::find();
  if (!pi) fmt::print("pi is left out: {}\n", pi.error().what);
  REEF_CHECK(print_appends(scratch.path()));
  REEF_CHECK(print_contexts(scratch.path(), pi));
  return print_lists(scratch.path(), pi);
}

}  // namespace reef::benchmarks
