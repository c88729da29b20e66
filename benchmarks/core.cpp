#include "core.h"

#include "groups.h"
#include "process.h"

namespace reef::benchmarks {

Status core() {
  REEF_TRY(const Scratch scratch, Scratch::make());
  const daemon::Home home{scratch.path() + "/talk"};
  REEF_CHECK(make_home(home));
  {
    REEF_TRY(const auto daemon, start_daemon(home));
    REEF_CHECK(print_round_trips(home, daemon.process.pid()));
    REEF_CHECK(print_first_chunk(home));
    REEF_CHECK(print_turns(home, daemon.process.pid()));
  }
  return print_start_up_and_memory(scratch.path());
}

}  // namespace reef::benchmarks
