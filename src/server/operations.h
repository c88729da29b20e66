// The table of operations: every message a client may send, the right it needs, whether it is
// answered by a stream, how it is known when it comes again, and who answers it. Each group keeps
// its rows at the end of its own file, <group>.cpp, and says there what it acts on. A new operation
// is a message of the schema, a row, its handler and a line in docs/protocol.md. Loop thread only.
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
class Asked {
 public:
  Asked(const Node& node, const protocol::Peer& from, protocol::ClientMessage& asked,
        std::optional<session::ClientMark> name)
      : peer(from), message(asked), mark(std::move(name)), node_(node) {}

  const protocol::Peer& peer;
  protocol::ClientMessage& message;
  // The request's name, when its client gave it one.
  const std::optional<session::ClientMark> mark;

  // What the handler acts on: becomes the struct of its group, as that takes it from the node. The
  // structs hold references to what outlives the answers, so they are copied freely.
  class Needed {
   public:
    template <class Needs>
    operator Needs() const {
      return Needs::of(node_);
    }

   private:
    friend class Asked;
    explicit Needed(const Node& node) : node_(node) {}
    const Node& node_;
  };
  Needed needs() const { return Needed(node_); }

 private:
  const Node& node_;
};

// Whether a request gets one message, or any number of them whose last one ends the answer.
enum class Messages : std::uint8_t { one, many };

// How a request that its client named (client_id) is known when it comes again.
enum class Naming : std::uint8_t {
  none,        // it changes nothing
  transcript,  // by the entry its words are
  ledger,      // by what it was answered with (ledger.h)
};

struct Operation {
  protocol::ClientMessage::MsgCase kind;
  protocol::Right right;
  Messages messages;
  Naming naming;
  protocol::Answer (*answer)(const Asked& asked);
};
using Operations = std::span<const Operation>;

// Makes a row's function from a handler that takes what its group acts on, and the request's own
// fields.
template <auto kFields, auto kHandler>
protocol::Answer answered(const Asked& asked) {
  return kHandler(asked.needs(), (asked.message.*kFields)());
}
// The same for a handler that no field matters to.
template <auto kHandler>
protocol::Answer answered(const Asked& asked) {
  return kHandler(asked.needs());
}

// nullptr for a message that nothing answers.
const Operation* find_operation(protocol::ClientMessage::MsgCase kind);
// Every row of every group, by the number of its message.
const std::vector<Operation>& all_operations();

// The name of a request in the ledger: the client's own, of the sender it speaks for, and what it
// asks for. `message` as it came.
session::ClientMark mark_of(const protocol::ClientMessage& message);

// How many bytes of a file go into one message.
inline constexpr std::size_t kDataPerMessage = 256U << 10;

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
Operations follow_decisions_operations();
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
