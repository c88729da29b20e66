// How CrabTalk's generations name agents and conversations (docs/protocol.md lists them).
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "protocol/peer.h"
#include "protocol/protocol.h"

namespace reef::runtime {
class Runtime;
struct Setup;
}  // namespace reef::runtime
namespace reef::session {
struct Row;
class Sessions;
}  // namespace reef::session

namespace reef::server {

struct Node;

struct TranslationNeeds {
  runtime::Runtime& runtime;
  session::Sessions& sessions;
};

// Puts what the generations say in different ways into the form the groups understand: an agent's
// id and the alias `crab` become its name, a handle becomes the key of a conversation.
Status translate(TranslationNeeds needs, const protocol::Peer& peer,
                 protocol::ClientMessage& message);
// Answers a message that nobody knows.
protocol::Answer answer_unknown(const protocol::ClientMessage& message);

// The handle of a session, for clients that use handles.
std::string handle_of(const session::Row& row);
// The id by which CrabTalk 0.0.24 knows an agent; empty when the agent is gone.
std::string agent_id(const runtime::Setup& setup, std::string_view name);

}  // namespace reef::server
