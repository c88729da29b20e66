// What an agent's tools may see of earlier conversations: those it had with the same sender, unless
// its configuration grants more (`search`). The one place where that is decided.
#pragma once

#include "recall/recall.h"
#include "runtime/hook.h"

namespace reef::hooks {

// Empty when all may be seen.
recall::RowTest seen_by(const runtime::Caller& caller);

// The same for what is left of a conversation nobody can tell any more: it may have been anybody's,
// so it is the local user's, or of those who see all of the agent's.
bool sees_unknown(const runtime::Caller& caller);

}  // namespace reef::hooks
