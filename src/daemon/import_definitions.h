// What comes with an import beside sessions, to whoever keeps it.
#pragma once

#include "exchange/exchange.h"
#include "memory/memory.h"
#include "organise/definitions.h"

namespace reef::daemon {

// Statuses and labels. False when one of that name is there: what the user has stays. invalid when
// it cannot be one, or when a rule of it cannot; the label itself is taken then.
Task<Result<bool>> keep_definition(organise::Definitions& definitions,
                                   exchange::Definition definition);

// An archive or a note, into the memory of its agent. False when it is there; conflict when
// something else has its name.
Task<Result<bool>> keep_archive(memory::Memories& memories, exchange::Definition archive);

}  // namespace reef::daemon
