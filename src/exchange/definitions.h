// Documents of the home that hold what is no session: agents, subscriptions, crons. Nothing that is
// there is ever written over. One at a time, any thread.
#pragma once

#include "base/files.h"
#include "exchange/exchange.h"
#include "session/documents.h"

namespace reef::exchange {

// "agent scout", for messages to a person.
std::string describe(const Definition& definition);

// False when one of that name is there already. invalid when it cannot be kept.
// `files` are those of others, where a skill may lie.
Result<bool> keep_definition(Files& files, session::Documents& documents,
                             const Definition& definition, bool dry_run);

}  // namespace reef::exchange
