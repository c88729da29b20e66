// Plans, which are accepted by themselves or as decisions.
#pragma once

#include "base/result.h"
#include "base/task.h"
#include "protocol/protocol.h"
#include "server/turns.h"
#include "session/ids.h"

namespace reef::organise {
class Changes;
}
namespace reef::runtime {
class Runtime;
}
namespace reef::session {
class Attachments;
class Sessions;
}  // namespace reef::session

namespace reef::server {

struct PermissionsNeeds {
  runtime::Runtime& runtime;
  session::Sessions& sessions;
  session::Attachments& attachments;
  organise::Changes& changes;
  TurnsNeeds turns;
  static PermissionsNeeds of(const Node& node);
};

// What a request on a plan asks for is begun: the session leaves its mode, and is its
// conversation's current one. The words that carry it out.
Task<Result<protocol::Stream>> begin_plan(PermissionsNeeds needs, session::SessionId id,
                                          protocol::AcceptPlan request);

}  // namespace reef::server
