// The session engine as the daemon assembles it, without the daemon. Loop thread.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/files.h"
#include "base/pool.h"
#include "base/random.h"
#include "session/session.h"
#include "store/store.h"

namespace reef::benchmarks {

// The same number as in daemon/daemon.cpp.
inline constexpr std::size_t kPoolThreads = 16;

// sessions/ must exist in `home`. Run Sessions::stop() before the Engine is destroyed.
struct Engine {
  Engine(Executor loop, const std::string& home, std::size_t threads_max)
      : pool(threads_max),
        store(files, pool, home),
        catalog(files, pool, store::catalog_of(home), store::FsJournal::Durable::no),
        sessions(loop, store, catalog, clock, random) {}

  SystemClock clock;
  SystemRandom random;
  PosixFiles files;
  Pool pool;
  store::FsTranscripts store;
  store::FsJournal catalog;
  session::Sessions sessions;
};

}  // namespace reef::benchmarks
