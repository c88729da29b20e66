// Table of contents of server/: one request in, a stream of answers out, whatever the transport.
//
//   server.h             dispatch, Node          this file
//   operations.h         the table of operations: rights and handlers
//   turns.cpp            send, stream, steer, kill, attach to a run
//   compactions.cpp      compact
//   contexts.cpp         what fills a window, what a session is, its title
//   questions.cpp        what agents ask: list, reply
//   decisions.cpp        what a person decides: list, answer
//   ledger.h             what named requests were answered with
//   permissions.cpp      what was allowed for good, plans
//   node.cpp             hello, ping, stats, reload, shutdown, and what is gone
//   sessions.cpp         list, read, follow
//   session_changes.cpp  new, resume, fork, rewind, patch, label, trash, restore, check
//   files.cpp            attach, list and read files of a session
//   retention.cpp        collect garbage
//   usage.cpp            tokens and cost
//   memories.cpp         what agents remember
//   conversations.cpp    CrabTalk's lists and history
//   exports.cpp          export
//   backups.cpp          backup
//   imports.cpp          import, find imports, cancel import
//   organise.cpp         statuses, labels, rules, views
//   bulk.cpp             one change for all sessions a filter holds
//   search.cpp           search, list messages
//   models.cpp           models, providers
//   agents.cpp           agents: list, get, create, update, rename, delete
//   events.cpp           what happens in all turns, for subscribers
//   skills.cpp           skills: list, read
//   subscriptions.cpp    which events start which agents: subscribe, list, publish
//   tasks.cpp            everything that runs: list, cancel, subscribe
//   crabtalk.cpp         how CrabTalk's generations differ
//   mcps.cpp             MCP servers: list, add, remove, test, events
//
// Loop thread only.
#pragma once

#include <functional>
#include <string>

#include "base/pool.h"
#include "base/result.h"
#include "bus/bus.h"
#include "exchange/import.h"
#include "mcp/connections.h"
#include "memory/memory.h"
#include "model/model_lists.h"
#include "model/registry.h"
#include "organise/organise.h"
#include "protocol/peer.h"
#include "protocol/protocol.h"
#include "recall/recall.h"
#include "runtime/compaction.h"
#include "runtime/live.h"
#include "runtime/runtime.h"
#include "runtime/tasks.h"
#include "session/attachments.h"
#include "session/session.h"
#include "skills/library.h"

namespace reef::session {
struct Line;
}

namespace reef::oauth {
class Accounts;
}

namespace reef::server {

class Ledger;

// The operations on models call these functions of the daemon. A change that returns Ok is written
// and in force.
struct Models {
  std::function<std::shared_ptr<const model::Providers>()> providers;
  std::function<std::string()> default_model;
  model::ModelLists* lists = nullptr;
  std::function<Result<model::Providers::Entry>(const model::ProviderSpec&)> make;
  std::function<Task<Status>(std::string model)> set_default;
  std::function<Task<Status>(model::ProviderSpec spec, bool make_default)> save;
  std::function<Task<Status>(std::string name)> remove;
};

// The operations on agents call these functions of the daemon. A change that returns Ok is durable
// and in force.
struct Agents {
  using Write =
      std::function<Task<Status>(std::string name, std::string config, std::string prompt)>;
  Write create, update;
  std::function<Task<Status>(std::string from, std::string to)> rename;
  std::function<Task<Status>(std::string name)> remove;
};

// The operations on MCP servers call these functions of the daemon. A change that returns Ok is
// durable and in force.
struct Mcps {
  mcp::Connections* connections = nullptr;
  oauth::Accounts* accounts = nullptr;
  std::function<Result<mcp::Spec>(const std::string& config)> read;
  std::function<Task<Status>(std::string agent, std::string config)> save;
  std::function<Task<Status>(std::string agent, std::string name)> remove;
};

// The definitions that those who follow lists were last told by, and how often they were others.
struct DefinedLast {
  std::shared_ptr<const organise::Defined> defined = {};
  std::uint64_t changes = 0;
};

// What the operations act on; everything must outlive the answers.
struct Node {
  runtime::Runtime& runtime;
  runtime::Compactions& compactions;
  session::Sessions& sessions;
  session::Transcripts& store;
  session::Documents& documents;
  session::Attachments& attachments;
  memory::Memories& memories;
  Pool& pool;
  std::string home;  // the folder everything lies in
  exchange::Importer& imports;
  organise::Definitions& definitions;
  organise::Changes& changes;
  recall::Recall& recall;
  // These are done by the daemon itself.
  std::function<Task<Status>()> reload;
  std::function<void()> shutdown;
  std::function<void(protocol::Stats&)> fill_stats;
  Models models = {};
  Agents agents = {};
  skills::Library* skills = nullptr;
  bus::Bus* bus = nullptr;
  runtime::Tasks* tasks = nullptr;
  Mcps mcps = {};
  runtime::Live* live = nullptr;
  DefinedLast defined_last = {};
  Ledger* ledger = nullptr;  // of requests that clients name; none: there are none
};

protocol::Answer dispatch(Node& node, const protocol::Peer& peer, protocol::ClientMessage message);

// Sends a turn's events as they come; plans are carried out that way too.
protocol::Answer answer_stream(Node& node, const protocol::Stream& request,
                               const protocol::Peer& peer = {}, const std::string& client_id = {});
// What a request on a plan asks for is begun: the session leaves its mode, and is its
// conversation's current one. The words that carry it out.
Task<Result<protocol::Stream>> begin_plan(Node& node, session::SessionId id,
                                          protocol::AcceptPlan request);
std::string name_of(protocol::Peer::Via via);
void fill(protocol::Decision& out, const runtime::Decision& decision);
// Answers a message that nobody knows.
protocol::Answer answer_unknown(const protocol::ClientMessage& message);

// Puts what CrabTalk's generations say in different ways into the form the groups understand: an
// agent's id and the alias `crab` become its name, a handle becomes the key of a conversation.
Status translate(const Node& node, const protocol::Peer& peer, protocol::ClientMessage& message);
// The handle of a session, for clients that use handles.
std::string handle_of(const session::Row& row);
// The id by which CrabTalk 0.0.24 knows an agent; empty when the agent is gone.
std::string agent_id(const Node& node, std::string_view name);

// The groups share all that follows.
// How many bytes of a file go into one message.
inline constexpr std::size_t kDataPerMessage = 256U << 10;
Task<protocol::ServerMessage> pong_when_done(Task<Status> work);
// Finds an MCP server of an agent, or of the default agent.
Result<mcp::Spec> find_mcp(const Node& node, const std::string& agent, const std::string& name);
void fill(const Node& node, protocol::SessionRow& out, const session::Row& row);
// `now`: what ages are counted to.
Result<session::Query> query_from(std::shared_ptr<const organise::Defined> defined,
                                  const protocol::ListSessions& in,
                                  TimePoint now = SystemClock().now());
void fill(protocol::StreamEvent& out, runtime::Event event);
void fill_entry(protocol::SessionEntry& out, const session::Line& line);
void fill(protocol::UsageRow& out, const std::string& name, const session::TokenTotals& totals);
// Makes the answer SessionInfo.
protocol::ServerMessage session_info(Node& node, const session::SessionId& id);
void fill(protocol::ContextUsage& out, const runtime::ContextUsage& usage);
void fill_ask(protocol::AskUser& out, const std::string& id, const std::string& call_id,
              const runtime::Ask& ask);
// Checks the folder a message wants to work in: none, or one that exists, because another would
// silently be taken instead. One look at the disk, on the loop.
Status check_folder(const std::string& cwd);
// not_found when there is no such session, invalid when it cannot be one.
Result<session::SessionId> known_session(const Node& node, const std::string& text);
// Reads a merge patch as JSON, and labels to add and remove.
Result<organise::Change> change_from(const std::string& patch,
                                     const google::protobuf::RepeatedPtrField<std::string>& add,
                                     const google::protobuf::RepeatedPtrField<std::string>& remove);
// Makes a test for rows from a view and a filter; either may be empty. It keeps the definitions it
// was made with.
using RowFilter = std::function<bool(const session::Row&)>;
Result<RowFilter> row_filter(std::shared_ptr<const organise::Defined> defined,
                             const std::string& view, const std::string& where,
                             TimePoint now = SystemClock().now());

}  // namespace reef::server
