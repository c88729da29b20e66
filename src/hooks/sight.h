// Decides which earlier conversations an agent's tools may see: those it had with the same sender,
// unless its configuration grants more (`search`). Nothing else decides this.
#pragma once

#include "recall/recall.h"
#include "runtime/hook.h"

namespace reef::hooks {

// Empty when the caller may see all.
recall::RowTest seen_by(const runtime::Caller& caller);

// Whether the caller sees what is left of conversations that are gone, in the trash or for good.
// Nobody can tell any more with whom they were, so only an agent that sees all of its own
// conversations does.
bool sees_gone(const runtime::Caller& caller);

// Whether the caller sees entries that never named their conversation, such as imported ones. They
// belong to the local user, too.
bool sees_unknown(const runtime::Caller& caller);

}  // namespace reef::hooks
