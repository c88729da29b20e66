#include "hooks/sight.h"

#include "runtime/runtime.h"

namespace reef::hooks {

using Sight = runtime::Agent::Sight;

recall::RowTest seen_by(const runtime::Caller& caller) {
  switch (caller.agent.sight) {
    case Sight::all:
      return {};
    case Sight::agent:
      return [agent = caller.agent.name](const session::Row& row) { return row.agent() == agent; };
    case Sight::own:
      break;
  }
  // Sessions imported without names belong to the local user.
  const bool local = caller.sender == runtime::kDefaultSender;
  return [agent = caller.agent.name, sender = caller.sender, local](const session::Row& row) {
    return (row.agent() == agent && row.sender() == sender) ||
           (local && row.agent().empty() && row.sender().empty());
  };
}

bool sees_gone(const runtime::Caller& caller) {
  return caller.agent.sight != Sight::own;
}

bool sees_unknown(const runtime::Caller& caller) {
  return sees_gone(caller) || caller.sender == runtime::kDefaultSender;
}

}  // namespace reef::hooks
