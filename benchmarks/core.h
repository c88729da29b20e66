// The tables of the group `core`. Each measures, prints and leaves nothing running.
#pragma once

#include "base/result.h"
#include "daemon/home.h"

namespace reef::benchmarks {

// A daemon must be running on `home`, made by make_home.
Status print_round_trips(const daemon::Home& home, int daemon_pid);
Status print_first_chunk(const daemon::Home& home);
Status print_turns(const daemon::Home& home, int daemon_pid);

// These start daemons of their own on homes under `scratch`.
Status print_start_up_and_memory(const std::string& scratch);

}  // namespace reef::benchmarks
