// Writes definitions that are files of the home: agents, crons, skills, instructions. Existing
// definitions are never overwritten. One at a time, any thread.
#pragma once

#include "base/files.h"
#include "exchange/exchange.h"

namespace reef::exchange {

// "agent scout", for messages to a person.
std::string describe(const Definition& definition);

// False when one of that name exists already. invalid when it cannot be kept.
Result<bool> keep_definition(Files& files, const std::string& home, const Definition& definition,
                             bool dry_run);

}  // namespace reef::exchange
