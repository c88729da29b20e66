// Table of contents of server/: one request in, a stream of answers out, whatever the transport.
//
//   server.h             dispatch, Node          this file
//   rights.cpp           who may ask for what
//   turns.cpp            send, stream, steer, kill, attach to a run
//   compactions.cpp      compact
//   contexts.cpp         what fills a window, what a session is, its title
//   questions.cpp        what agents ask: list, reply
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
#include "mcp/pool.h"
#include "memory/memory.h"
#include "model/model_lists.h"
#include "model/registry.h"
#include "organise/organise.h"
#include "protocol/peer.h"
#include "protocol/protocol.h"
#include "recall/recall.h"
#include "runtime/compaction.h"
#include "runtime/runtime.h"
#include "runtime/tasks.h"
#include "session/attachments.h"
#include "session/session.h"
#include "skills/library.h"

namespace reef::oauth {
class Accounts;
}

namespace reef::server {

// What the operations on models need of the daemon. Each `Status` is of a change that is written
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

// What the operations on agents need of the daemon. Each `Status` is of a change that is durable
// and in force.
struct Agents {
  using Write =
      std::function<Task<Status>(std::string name, std::string config, std::string prompt)>;
  Write create, update;
  std::function<Task<Status>(std::string from, std::string to)> rename;
  std::function<Task<Status>(std::string name)> remove;
};

// What the operations on MCP servers need of the daemon. Each `Status` is of a change that is
// durable and in force.
struct Mcps {
  mcp::Pool* pool = nullptr;
  oauth::Accounts* accounts = nullptr;
  std::function<Result<mcp::Spec>(const std::string& config)> read;
  std::function<Task<Status>(std::string agent, std::string config)> save;
  std::function<Task<Status>(std::string agent, std::string name)> remove;
};

// What the operations act on; everything must outlive the answers.
struct Node {
  runtime::Runtime& runtime;
  runtime::Compactions& compactions;
  session::Sessions& sessions;
  session::Store& store;
  session::Attachments& attachments;
  memory::Memories& memories;
  Pool& pool;
  std::string home;  // the folder everything lies in
  exchange::Importer& imports;
  organise::Definitions& definitions;
  organise::Changes& changes;
  recall::Recall& recall;
  // The daemon's own matters.
  std::function<Task<Status>()> reload;
  std::function<void()> shutdown;
  std::function<void(protocol::Stats&)> fill_stats;
  Models models = {};
  Agents agents = {};
  skills::Library* skills = nullptr;
  bus::Bus* bus = nullptr;
  runtime::Tasks* tasks = nullptr;
  Mcps mcps = {};
};

protocol::Answer dispatch(Node& node, const protocol::Peer& peer, protocol::ClientMessage message);
// Empty: the peer may ask for this.
std::optional<Error> objection_to(const protocol::Peer& peer,
                                  const protocol::ClientMessage& message);

// The groups; each is given a message of one of its variants.
protocol::Answer answer_send(Node& node, const protocol::Send& request);
protocol::Answer answer_stream(Node& node, const protocol::Stream& request,
                               const protocol::Peer& peer = {});
protocol::Answer answer_kill(Node& node, const protocol::Kill& request);
protocol::Answer answer_steer(Node& node, const protocol::SteerSession& request);
protocol::Answer answer_attach_run(Node& node, const protocol::AttachRun& request);
protocol::Answer answer_compact(Node& node, const protocol::Compact& request);
protocol::Answer answer_generate_title(Node& node, const protocol::GenerateTitle& request);
protocol::Answer answer_describe_context(Node& node, const protocol::DescribeContext& request);
protocol::Answer answer_describe_session(Node& node, const protocol::DescribeSession& request);
protocol::Answer answer_reply(Node& node, const protocol::ReplyToAsk& request);
protocol::Answer answer_reply_to_tool(Node& node, const protocol::ReplyToTool& request);
protocol::Answer answer_create_session(Node& node, const protocol::CreateSession& request);
protocol::Answer answer_find_sessions(Node& node, const protocol::FindSessions& request);
protocol::Answer answer_reconnect_mcp(Node& node, const protocol::ReconnectMcp& request);
protocol::Answer answer_get_skill(Node& node, const protocol::GetSkill& request);
protocol::Answer answer_unknown(const protocol::ClientMessage& message);
protocol::Answer answer_list_questions(Node& node, const protocol::ListQuestions& request);
protocol::Answer answer_list_permissions(Node& node, const protocol::ListPermissions& request);
protocol::Answer answer_revoke_permission(Node& node, const protocol::RevokePermission& request);
protocol::Answer answer_list_plans(Node& node, const protocol::ListPlans& request);
protocol::Answer answer_accept_plan(Node& node, const protocol::AcceptPlan& request);
protocol::Answer answer_hello(const protocol::Hello& request);
protocol::Answer answer_stats(Node& node);
protocol::Answer answer_reload(Node& node);
protocol::Answer answer_shutdown(Node& node);
protocol::Answer answer_gone(const protocol::ClientMessage& request);
protocol::Answer answer_list_sessions(Node& node, const protocol::ListSessions& request);
protocol::Answer answer_read_session(Node& node, const protocol::ReadSession& request);
protocol::Answer answer_follow_session(Node& node, const protocol::FollowSession& request);
protocol::Answer answer_list_trash(Node& node);
protocol::Answer answer_new_session(Node& node, const protocol::NewSession& request);
protocol::Answer answer_resume_session(Node& node, const protocol::ResumeSession& request);
protocol::Answer answer_fork_session(Node& node, const protocol::ForkSession& request);
protocol::Answer answer_rewind_session(Node& node, const protocol::RewindSession& request);
protocol::Answer answer_patch_session(Node& node, const protocol::PatchSession& request);
protocol::Answer answer_label_entry(Node& node, const protocol::LabelEntry& request);
protocol::Answer answer_trash_session(Node& node, const std::string& id);
protocol::Answer answer_restore_session(Node& node, const protocol::RestoreSession& request);
protocol::Answer answer_check_sessions(Node& node, const protocol::CheckSessions& request);
protocol::Answer answer_attach_file(Node& node, const protocol::AttachFile& request, bool numbered);
protocol::Answer answer_attach_data(Node& node, protocol::AttachData& request);
protocol::Answer answer_list_files(Node& node, const protocol::ListFiles& request);
protocol::Answer answer_read_file(Node& node, const protocol::ReadFile& request);
protocol::Answer answer_collect_garbage(Node& node, const protocol::CollectGarbage& request);
protocol::Answer answer_get_usage(Node& node, const protocol::GetUsage& request);
protocol::Answer answer_list_memories(Node& node, const protocol::ListMemories& request);
protocol::Answer answer_get_memory(Node& node, const protocol::GetMemory& request);
protocol::Answer answer_recall(Node& node, const protocol::Recall& request);
protocol::Answer answer_remember(Node& node, const protocol::Remember& request);
protocol::Answer answer_forget(Node& node, const protocol::Forget& request);
protocol::Answer answer_rename_memory(Node& node, const protocol::RenameMemory& request);
protocol::Answer answer_alias_memory(Node& node, const protocol::AliasMemory& request);
protocol::Answer answer_read_memory(Node& node, const protocol::ReadMemory& request);
protocol::Answer answer_load_memory(Node& node, const protocol::LoadMemory& request);
protocol::Answer answer_list_conversations(Node& node, const protocol::ListConversations& request);
protocol::Answer answer_active_conversations(Node& node);
protocol::Answer answer_history(Node& node, const protocol::GetConversationHistory& request);
protocol::Answer answer_export(Node& node, const protocol::ExportSessions& request);
protocol::Answer answer_import(Node& node, const protocol::ImportSessions& request);
protocol::Answer answer_find_imports(Node& node, const protocol::FindImports& request);
protocol::Answer answer_cancel_import(Node& node);
protocol::Answer answer_backup(Node& node);
protocol::Answer answer_list_statuses(Node& node);
protocol::Answer answer_change_status(Node& node, const protocol::ChangeStatus& request);
protocol::Answer answer_list_labels(Node& node);
protocol::Answer answer_change_label(Node& node, const protocol::ChangeLabel& request);
protocol::Answer answer_change_rule(Node& node, const protocol::ChangeRule& request);
protocol::Answer answer_list_views(Node& node);
protocol::Answer answer_change_view(Node& node, const protocol::ChangeView& request);
protocol::Answer answer_patch_sessions(Node& node, const protocol::PatchSessions& request);
protocol::Answer answer_trash_sessions(Node& node, const protocol::TrashSessions& request);
protocol::Answer answer_search_sessions(Node& node, const protocol::SearchSessions& request);
protocol::Answer answer_list_messages(Node& node, const protocol::ListMessages& request);
protocol::Answer answer_list_models(Node& node, const protocol::ListModels& request);
protocol::Answer answer_set_active_model(Node& node, const protocol::SetActiveModel& request);
protocol::Answer answer_list_providers(Node& node);
protocol::Answer answer_test_provider(Node& node, const protocol::TestProvider& request);
protocol::Answer answer_save_provider(Node& node, const protocol::SaveProvider& request);
protocol::Answer answer_remove_provider(Node& node, const protocol::RemoveProvider& request);
protocol::Answer answer_list_agents(Node& node);
protocol::Answer answer_get_agent(Node& node, const protocol::GetAgent& request);
protocol::Answer answer_create_agent(Node& node, const protocol::CreateAgent& request);
protocol::Answer answer_update_agent(Node& node, const protocol::UpdateAgent& request);
protocol::Answer answer_rename_agent(Node& node, const protocol::RenameAgent& request);
protocol::Answer answer_delete_agent(Node& node, const protocol::DeleteAgent& request);
protocol::Answer answer_subscribe_events(Node& node, const protocol::SubscribeEvents& request);
protocol::Answer answer_list_skills(Node& node, const protocol::ListSkills& request);
protocol::Answer answer_read_skill(Node& node, const protocol::ReadSkill& request);
protocol::Answer answer_subscribe_event(Node& node, const protocol::SubscribeEvent& request);
protocol::Answer answer_unsubscribe_event(Node& node, const protocol::UnsubscribeEvent& request);
protocol::Answer answer_list_subscriptions(Node& node);
protocol::Answer answer_publish_event(Node& node, const protocol::PublishEvent& request);
protocol::Answer answer_list_tasks(Node& node);
protocol::Answer answer_cancel_task(Node& node, const protocol::CancelTask& request);
protocol::Answer answer_subscribe_tasks(Node& node);
protocol::Answer answer_list_mcps(Node& node, const protocol::ListMcps& request);
protocol::Answer answer_upsert_mcp(Node& node, const protocol::UpsertMcp& request);
protocol::Answer answer_delete_mcp(Node& node, const protocol::DeleteMcp& request);
protocol::Answer answer_test_mcp(Node& node, const protocol::TestMcp& request);
protocol::Answer answer_subscribe_mcp_events(Node& node);
protocol::Answer answer_login_mcp(Node& node, const protocol::LoginMcp& request);
protocol::Answer answer_finish_mcp_login(Node& node, const protocol::FinishMcpLogin& request);
protocol::Answer answer_logout_mcp(Node& node, const protocol::LogoutMcp& request);

// What CrabTalk's generations say in different ways becomes what the groups understand: an agent's
// id and the alias `crab` its name, a handle the key of a conversation.
Status translate(const Node& node, const protocol::Peer& peer, protocol::ClientMessage& message);
// The handle a session is known by to clients that speak of handles.
std::string handle_of(const session::Row& row);
// What CrabTalk 0.0.24 calls an agent; empty when it is gone.
std::string agent_id(const Node& node, std::string_view name);

// What the groups share.
// Bytes of a file in one message.
inline constexpr std::size_t kDataPerMessage = 256U << 10;
Task<protocol::ServerMessage> pong_when_done(Task<Status> work);
// A server of an agent, or of the default one.
Result<mcp::Spec> find_mcp(const Node& node, const std::string& agent, const std::string& name);
void fill(const Node& node, protocol::SessionRow& out, const session::Row& row);
Result<session::Query> query_from(std::shared_ptr<const organise::Defined> defined,
                                  const protocol::ListSessions& in);
void fill(protocol::UsageRow& out, const std::string& name, const session::TokenTotals& totals);
// The answer SessionInfo.
protocol::ServerMessage session_info(Node& node, const session::SessionId& id);
void fill(protocol::ContextUsage& out, const runtime::ContextUsage& usage);
void fill_ask(protocol::AskUser& out, const std::string& id, const std::string& call_id,
              const runtime::Ask& ask);
// The folder a message wants to work in: none, or one that is there; another would silently be
// taken instead. One look at the disk, on the loop.
Status check_folder(const std::string& cwd);
// not_found when there is no such session, invalid when it cannot be one.
// The folder a message wants to work in: none, or one that is there; another would silently be
// taken instead. One look at the disk, on the loop.
Status check_folder(const std::string& cwd);
Result<session::SessionId> known_session(const Node& node, const std::string& text);
// A merge patch as JSON, and labels to add and remove.
Result<organise::Change> change_from(const std::string& patch,
                                     const google::protobuf::RepeatedPtrField<std::string>& add,
                                     const google::protobuf::RepeatedPtrField<std::string>& remove);
// What a view and a filter hold together; either may be empty. Keeps the definitions it was made
// with.
using RowFilter = std::function<bool(const session::Row&)>;
Result<RowFilter> row_filter(std::shared_ptr<const organise::Defined> defined,
                             const std::string& view, const std::string& where);

}  // namespace reef::server
