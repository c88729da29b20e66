// Who may ask for what. Every operation is in one list; what is in none is the user's alone.
#include <fmt/format.h>

#include "base/log.h"
#include "server/server.h"

namespace reef::server {
namespace {

enum class Right : std::uint8_t {
  none,    // whoever is let in
  read,    // looks, in all conversations
  answer,  // speaks as the user: sends words, answers questions, ends what runs
  admin,   // changes sessions, agents, settings, memory; grants, imports, stops the daemon
};

Right right_for(const protocol::ClientMessage& message) {
  using M = protocol::ClientMessage;
  switch (message.msg_case()) {
    case M::MSG_NOT_SET:
    case M::kPing:
    case M::kHello:
    case M::kGetStats:
      return Right::none;

    case M::kListActiveConversations:
    case M::kListConversations:
    case M::kGetConversationHistory:
    case M::kListSessions:
    case M::kReadSession:
    case M::kFollowSession:
    case M::kListTrash:
    case M::kCheckSessions:
    case M::kListStatuses:
    case M::kListLabels:
    case M::kListViews:
    case M::kListFiles:
    case M::kReadFile:
    case M::kGetUsage:
    case M::kListMemories:
    case M::kGetMemory:
    case M::kRecall:
    case M::kReadMemory:
    case M::kSearchSessions:
    case M::kListMessages:
    case M::kListModels:
    case M::kListProviders:
    case M::kListAgents:
    case M::kGetAgent:
    case M::kSubscribeEvents:
    case M::kListMcps:
    case M::kSubscribeMcpEvents:
    case M::kListSkills:
    case M::kReadSkill:
    case M::kListSubscriptions:
    case M::kListTasks:
    case M::kSubscribeTasks:
    case M::kListQuestions:
    case M::kListPermissions:
    case M::kListPlans:
    case M::kAttachRun:
    case M::kDescribeContext:
    case M::kDescribeSession:
    case M::kGetSkill:
    case M::kFindSessions:
      return Right::read;

    case M::kSend:
    case M::kStream:
    case M::kKill:
    case M::kSteerSession:
    case M::kReplyToAsk:
    case M::kReplyToTool:
    case M::kCancelStream:
    case M::kCreateSession:
    case M::kPublishEvent:
    case M::kCancelTask:
    case M::kAttachFile:
    case M::kAttachData:
      return Right::answer;

    default:
      return Right::admin;
  }
}

// The user, by whatever way, may do everything; what came from the daemon itself nothing as the
// user. A gateway with a right of its own will stand between them.
Right right_of(const protocol::Peer& peer) {
  return peer.origin == protocol::Peer::Origin::user ? Right::admin : Right::none;
}

}  // namespace

std::optional<Error> objection_to(const protocol::Peer& peer,
                                  const protocol::ClientMessage& message) {
  if (right_for(message) <= right_of(peer)) return std::nullopt;
  const auto operation = protocol::operation_name(message);
  log::warn("{} was refused: process {} {}", operation, peer.pid,
            peer.origin == protocol::Peer::Origin::child ? "came from a tool"
                                                         : "could not be told from a tool");
  if (peer.origin == protocol::Peer::Origin::child)
    return Error(Errc::denied,
                 fmt::format("'{}' is for the user: this process was started by a tool of this "
                             "daemon, and may not act in the user's name",
                             operation));
  return Error(Errc::denied,
               fmt::format("'{}' is for the user: who connected cannot be told from a tool of this "
                           "daemon (the process is gone, or hides)",
                           operation));
}

}  // namespace reef::server
