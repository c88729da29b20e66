// The tables of the group `core`. Each function measures, prints and leaves nothing running.
#pragma once

#include "base/result.h"
#include "daemon/home.h"

namespace reef::benchmarks {

// These need a daemon running on `home`, which make_home made.
Status print_round_trips(const daemon::Home& home, int daemon_pid);
Status print_first_chunk(const daemon::Home& home);
Status print_turns(const daemon::Home& home, int daemon_pid);

// These start daemons of their own on homes under `scratch`.
Status print_start_up_and_memory(const std::string& scratch);

}  // namespace reef::benchmarks
