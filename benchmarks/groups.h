// Table of contents of benchmarks/: groups of tables. Each group is a function that measures and
// prints.
//
//   groups.h     core, sessions, imports, ...   this file; main.cpp names them on the command line
//   core.h       the tables of `core`            round_trip.cpp, turns.cpp, start_up.cpp
//   sessions.h   the tables of `sessions`        appends.cpp, contexts.cpp, lists.cpp
//   searches.h   the table of `search`           searches.cpp, with corpus.h and rivals.h
//   windows.cpp                                  the tables of `context`
//   runtime.cpp                                  the table of `runtime`
//   table.h      Table                           aligned columns
//   measure.h    Samples                         durations and their percentiles
//   process.h    Scratch, Child, start_daemon    the daemon under measurement
//   talk.h       Clients, PlainConnection        talking to the daemon
//   peers.h      Echo, SyncedFile                the limits it is compared with
//   pi.h         Pi                              a comparison with pi, if node is installed
//   engine.h     Engine                          the session engine without the daemon
//   transcripts.h                                files for the engine
//
// Every figure is next to a peer or a physical limit measured in the same run, alternately with it
// where possible, so that a busy machine is busy for both.
#pragma once

#include "base/result.h"

namespace reef::benchmarks {

Status core();
Status sessions();
Status contexts();
Status imports();
Status search_small();
Status search_alone();
Status search_large();
Status providers();
Status runtime_loop();

}  // namespace reef::benchmarks
