// What an agent's tools may see of earlier conversations: those it had with the same sender, unless
// its configuration grants more (`search`). The one place where that is decided.
#pragma once

#include "recall/recall.h"
#include "runtime/hook.h"

namespace reef::hooks {

// Empty when all may be seen.
recall::RowTest seen_by(const runtime::Caller& caller);

// The same for what is left of a conversation that is gone, in the trash or for good: it was had
// with somebody, and nobody can tell any more with whom. Only for those who see all of the agent's.
bool sees_gone(const runtime::Caller& caller);

// The same for what never told its conversation, as what came from other programs: it is the local
// user's, too.
bool sees_unknown(const runtime::Caller& caller);

}  // namespace reef::hooks
