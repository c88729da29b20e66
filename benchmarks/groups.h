// Table of contents of benchmarks/: groups of tables, each a function that measures and prints.
//
//   groups.h     core ...                        this file; main.cpp names them on the command line
//   core.h       the tables of `core`            round_trip.cpp, turns.cpp, start_up.cpp
//   table.h      Table                           aligned columns
//   measure.h    Samples                         durations and their percentiles
//   process.h    Scratch, Child, start_daemon    the daemon under measurement
//   talk.h       Clients, PlainConnection        speaking to it
//   peers.h      Echo, SyncedFile                what it is compared with
//
// A figure stands beside a peer or a physical limit measured in the same run, in turns with it
// where that is possible, so that a busy machine is busy for both.
#pragma once

#include "base/result.h"

namespace reef::benchmarks {

Status core();

}  // namespace reef::benchmarks
