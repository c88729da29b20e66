// Statuses and labels that come with an import, into the files of the home.
#pragma once

#include "exchange/exchange.h"
#include "organise/definitions.h"

namespace reef::daemon {

// False when one of that name is there: what the user has stays. invalid when it cannot be one, or
// when a rule of it cannot; the label itself is taken then.
Task<Result<bool>> keep_definition(organise::Definitions& definitions,
                                   exchange::Definition definition);

}  // namespace reef::daemon
