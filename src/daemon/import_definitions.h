// Hands what an import brings besides sessions to the part that keeps it.
#pragma once

#include "exchange/exchange.h"
#include "memory/memory.h"
#include "organise/definitions.h"

namespace reef::daemon {

// Keeps statuses and labels. False when one of that name exists; the user's stays. invalid when it
// cannot be kept, or when only a rule of a label cannot; the label itself is then kept.
Task<Result<bool>> keep_definition(organise::Definitions& definitions,
                                   exchange::Definition definition);

// Puts an archive or a note into the memory of its agent. False when it is there already; conflict
// when something else has its name.
Task<Result<bool>> keep_archive(memory::Memories& memories, exchange::Definition archive);

}  // namespace reef::daemon
