// Keeps what model calls beside turns cost, on the entry they made. Inside runtime/ only.
#pragma once

#include "runtime/turn.h"

namespace reef::runtime {

void add(session::Usage& sum, const session::Usage& more);

// Notes `usage` as replies have it, with `provider` and `model`; nothing when nothing was counted.
void note_spent(session::Draft& draft, const Candidate& candidate, const session::Usage& usage);

}  // namespace reef::runtime
