// Handles one request: checks whether the peer may make it, and finds its handler.
#include <fmt/format.h>

#include "base/log.h"
#include "server/crabtalk.h"
#include "server/ledger.h"
#include "server/operations.h"
#include "server/server.h"

namespace reef::server {
namespace {

using protocol::Right;

// A message without a row needs every right; an empty one needs none, as it only gets an error.
Right right_for(const protocol::ClientMessage& message) {
  if (message.msg_case() == protocol::ClientMessage::MSG_NOT_SET) return Right::none;
  const auto* operation = find_operation(message.msg_case());
  return operation ? operation->right : Right::admin;
}

std::optional<Error> objection_to(const protocol::Peer& peer,
                                  const protocol::ClientMessage& message) {
  using Whose = protocol::Peer::Whose;
  if (right_for(message) <= protocol::right_of(peer)) return std::nullopt;
  const auto operation = protocol::operation_name(message);
  if (peer.whose == Whose::user) {
    log::warn("{} was refused: this client may not do that", operation);
    return Error(Errc::denied, fmt::format("'{}' needs the right '{}'; this client has '{}'",
                                           operation, protocol::name_of(right_for(message)),
                                           protocol::name_of(protocol::right_of(peer))));
  }
  const bool ours = peer.whose == Whose::daemon;
  log::warn("{} was refused: process {} of user {} {}", operation, peer.pid,
            peer.uid ? std::to_string(*peer.uid) : "?",
            ours ? "came from a tool" : "could not be told from a tool");
  if (ours)
    return Error(Errc::denied,
                 fmt::format("'{}' is for the user: this process was started by a tool of this "
                             "daemon, and may not act in the user's name",
                             operation));
  return Error(Errc::denied,
               fmt::format("'{}' is for the user: who connected cannot be told from a tool of this "
                           "daemon (the process is gone, or hides)",
                           operation));
}

// A request that speaks for somebody and names neither whom nor a conversation speaks for the peer.
// In requests that only look, no sender means all of them.
template <class Request>
void fill_in_sender(const protocol::Peer& peer, Request& request) {
  if (request.sender().empty() && !request.has_key()) request.set_sender(peer.sender);
}

void fill_in_sender(const protocol::Peer& peer, protocol::ClientMessage& message) {
  using M = protocol::ClientMessage;
  switch (message.msg_case()) {
    case M::kSend:
      return fill_in_sender(peer, *message.mutable_send());
    case M::kStream:
      return fill_in_sender(peer, *message.mutable_stream());
    case M::kKill:
      return fill_in_sender(peer, *message.mutable_kill());
    case M::kCompact:
      return fill_in_sender(peer, *message.mutable_compact());
    case M::kReplyToAsk:
      return fill_in_sender(peer, *message.mutable_reply_to_ask());
    case M::kSteerSession:
      return fill_in_sender(peer, *message.mutable_steer_session());
    case M::kAttachRun:
      return fill_in_sender(peer, *message.mutable_attach_run());
    case M::kDescribeSession:
      return fill_in_sender(peer, *message.mutable_describe_session());
    case M::kNewSession:
      return fill_in_sender(peer, *message.mutable_new_session());
    case M::kCreateSession:
      if (message.create_session().sender().empty())
        message.mutable_create_session()->set_sender(peer.sender);
      return;
    case M::kAnswerDecision:
      if (message.answer_decision().by().empty())
        message.mutable_answer_decision()->set_by(peer.sender);
      return;
    default:
      return;
  }
}

}  // namespace

protocol::Answer dispatch(const Node& node, const protocol::Peer& peer,
                          protocol::ClientMessage message) {
  if (auto why = objection_to(peer, message)) return protocol::answer_with(*std::move(why));
  std::optional<session::ClientMark> mark;
  if (message.has_client_id()) {
    if (const auto good = session::check_client_id(message.client_id()); !good)
      return protocol::answer_with(good.error());
    mark = mark_of(message);
  }
  if (const auto known = translate({node.runtime, node.sessions}, peer, message); !known)
    return protocol::answer_with(known.error());
  // The rights are checked for the request as it came, and again for what it was translated into.
  if (auto why = objection_to(peer, message)) return protocol::answer_with(*std::move(why));
  if (message.msg_case() == protocol::ClientMessage::MSG_NOT_SET) return answer_unknown(message);
  fill_in_sender(peer, message);
  const auto* operation = find_operation(message.msg_case());
  if (!operation)
    return protocol::answer_with(
        Error(Errc::unsupported,
              fmt::format("operation '{}' is not built yet", protocol::operation_name(message))));
  if (!mark || operation->naming != Naming::ledger)
    return operation->answer(Asked(node, peer, message, std::move(mark)));
  auto kept = std::make_shared<protocol::ClientMessage>(std::move(message));
  auto make = [&node, peer, operation, kept, mark] {
    return operation->answer(Asked(node, peer, *kept, mark));
  };
  return answer_once(node.ledger, *mark, operation->messages == Messages::one, std::move(make));
}

}  // namespace reef::server
