// The table of operations: every message a client may send, the right it needs, and who answers it.
// Each group keeps its rows at the end of its own file, <group>.cpp; a new operation is a message
// of the schema, a row, its handler and a line in docs/protocol.md. Loop thread only.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "protocol/peer.h"
#include "protocol/protocol.h"
#include "session/client_mark.h"

namespace reef::server {

struct Node;

// A request on its way to its handler. The handler copies what it needs later.
struct Asked {
  Node& node;
  const protocol::Peer& peer;
  protocol::ClientMessage& message;
  // The request's name, when its client gave it one.
  std::optional<session::ClientMark> mark = {};
};

// Whether a request gets one answer, or any number of messages whose last one ends it.
enum class Answers : std::uint8_t { once, several };

struct Operation {
  protocol::ClientMessage::MsgCase kind;
  protocol::Right right;
  Answers answers;
  protocol::Answer (*answer)(const Asked& asked);
};
using Operations = std::span<const Operation>;

// Makes a row's function from a handler that takes the node and the request's own fields.
template <auto kFields, auto kHandler>
protocol::Answer answered(const Asked& asked) {
  return kHandler(asked.node, (asked.message.*kFields)());
}

// How a request that its client named (client_id) is known when it comes again.
enum class Naming : std::uint8_t {
  none,        // it changes nothing
  transcript,  // by the entry its words are
  ledger,      // by what it was answered with (ledger.h)
};
Naming naming_of(const Operation& operation);
// The name of a request in the ledger: the client's own, of the sender it speaks for, and what it
// asks for. `message` as it came.
session::ClientMark mark_of(const protocol::ClientMessage& message);

// nullptr for a message that nothing answers.
const Operation* find_operation(protocol::ClientMessage::MsgCase kind);
// Every row of every group, by the number of its message.
const std::vector<Operation>& all_operations();

// The groups.
Operations agents_operations();
Operations backups_operations();
Operations bulk_operations();
Operations compactions_operations();
Operations contexts_operations();
Operations conversations_operations();
Operations crabtalk_operations();
Operations decisions_operations();
Operations events_operations();
Operations exports_operations();
Operations files_operations();
Operations follow_entries_operations();
Operations follow_sessions_operations();
Operations imports_operations();
Operations mcp_logins_operations();
Operations mcps_operations();
Operations memories_operations();
Operations models_operations();
Operations node_operations();
Operations organise_operations();
Operations permissions_operations();
Operations questions_operations();
Operations retention_operations();
Operations search_operations();
Operations session_changes_operations();
Operations sessions_operations();
Operations skills_operations();
Operations subscriptions_operations();
Operations tasks_operations();
Operations turns_operations();
Operations usage_operations();

}  // namespace reef::server
