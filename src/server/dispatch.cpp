#include <fmt/format.h>

#include "server/server.h"

namespace reef::server {

protocol::Answer dispatch(Node& node, const protocol::Peer& peer, protocol::ClientMessage message) {
  using M = protocol::ClientMessage;
  if (auto why = objection_to(peer, message)) return protocol::answer_with(*std::move(why));
  if (const auto known = translate(node, peer, message); !known)
    return protocol::answer_with(known.error());
  // What it was said as, and what it means, are both asked about.
  if (auto why = objection_to(peer, message)) return protocol::answer_with(*std::move(why));
  switch (message.msg_case()) {
    case M::MSG_NOT_SET:
      return answer_unknown(message);
    case M::kSend:
      return answer_send(node, message.send());
    case M::kReplyToTool:
      return answer_reply_to_tool(node, message.reply_to_tool());
    case M::kReconnectMcp:
      return answer_reconnect_mcp(node, message.reconnect_mcp());
    case M::kGetSkill:
      return answer_get_skill(node, message.get_skill());
    case M::kFindSessions:
      return answer_find_sessions(node, message.find_sessions());
    case M::kCreateSession:
      return answer_create_session(node, message.create_session());
    case M::kStream:
      return answer_stream(node, message.stream(), peer);
    case M::kKill:
      return answer_kill(node, message.kill());
    case M::kSteerSession:
      return answer_steer(node, message.steer_session());
    case M::kAttachRun:
      return answer_attach_run(node, message.attach_run());
    case M::kReplyToAsk:
      return answer_reply(node, message.reply_to_ask());
    case M::kListQuestions:
      return answer_list_questions(node, message.list_questions());
    case M::kListPermissions:
      return answer_list_permissions(node, message.list_permissions());
    case M::kRevokePermission:
      return answer_revoke_permission(node, message.revoke_permission());
    case M::kListPlans:
      return answer_list_plans(node, message.list_plans());
    case M::kAcceptPlan:
      return answer_accept_plan(node, message.accept_plan());
    case M::kPing:
      return protocol::answer_with(protocol::make_pong());
    case M::kHello:
      return answer_hello(message.hello());
    case M::kGetStats:
      return answer_stats(node);
    case M::kReload:
      return answer_reload(node);
    case M::kShutdown:
      return answer_shutdown(node);
    case M::kListSessions:
      return answer_list_sessions(node, message.list_sessions());
    case M::kReadSession:
      return answer_read_session(node, message.read_session());
    case M::kFollowSession:
      return answer_follow_session(node, message.follow_session());
    case M::kListTrash:
      return answer_list_trash(node);
    case M::kNewSession:
      return answer_new_session(node, message.new_session());
    case M::kResumeSession:
      return answer_resume_session(node, message.resume_session());
    case M::kForkSession:
      return answer_fork_session(node, message.fork_session());
    case M::kRewindSession:
      return answer_rewind_session(node, message.rewind_session());
    case M::kPatchSession:
      return answer_patch_session(node, message.patch_session());
    case M::kLabelEntry:
      return answer_label_entry(node, message.label_entry());
    case M::kTrashSession:
      return answer_trash_session(node, message.trash_session().id());
    case M::kDeleteConversation:
      return answer_trash_session(node, message.delete_conversation().file_path());
    case M::kRestoreSession:
      return answer_restore_session(node, message.restore_session());
    case M::kCheckSessions:
      return answer_check_sessions(node, message.check_sessions());
    case M::kAttachFile:
      return answer_attach_file(node, message.attach_file(), message.has_request_id());
    case M::kAttachData:
      return answer_attach_data(node, *message.mutable_attach_data());
    case M::kListFiles:
      return answer_list_files(node, message.list_files());
    case M::kReadFile:
      return answer_read_file(node, message.read_file());
    case M::kCollectGarbage:
      return answer_collect_garbage(node, message.collect_garbage());
    case M::kGetUsage:
      return answer_get_usage(node, message.get_usage());
    case M::kImportSessions:
      return answer_import(node, message.import_sessions());
    case M::kFindImports:
      return answer_find_imports(node, message.find_imports());
    case M::kCancelImport:
      return answer_cancel_import(node);
    case M::kListMemories:
      return answer_list_memories(node, message.list_memories());
    case M::kGetMemory:
      return answer_get_memory(node, message.get_memory());
    case M::kRecall:
      return answer_recall(node, message.recall());
    case M::kRemember:
      return answer_remember(node, message.remember());
    case M::kForget:
      return answer_forget(node, message.forget());
    case M::kRenameMemory:
      return answer_rename_memory(node, message.rename_memory());
    case M::kAliasMemory:
      return answer_alias_memory(node, message.alias_memory());
    case M::kReadMemory:
      return answer_read_memory(node, message.read_memory());
    case M::kLoadMemory:
      return answer_load_memory(node, message.load_memory());
    case M::kListStatuses:
      return answer_list_statuses(node);
    case M::kChangeStatus:
      return answer_change_status(node, message.change_status());
    case M::kListLabels:
      return answer_list_labels(node);
    case M::kChangeLabel:
      return answer_change_label(node, message.change_label());
    case M::kChangeRule:
      return answer_change_rule(node, message.change_rule());
    case M::kListViews:
      return answer_list_views(node);
    case M::kChangeView:
      return answer_change_view(node, message.change_view());
    case M::kPatchSessions:
      return answer_patch_sessions(node, message.patch_sessions());
    case M::kTrashSessions:
      return answer_trash_sessions(node, message.trash_sessions());
    case M::kSearchSessions:
      return answer_search_sessions(node, message.search_sessions());
    case M::kListMessages:
      return answer_list_messages(node, message.list_messages());
    case M::kListConversations:
      return answer_list_conversations(node, message.list_conversations());
    case M::kListActiveConversations:
      return answer_active_conversations(node);
    case M::kGetConversationHistory:
      return answer_history(node, message.get_conversation_history());
    case M::kExportSessions:
      return answer_export(node, message.export_sessions());
    case M::kBackup:
      return answer_backup(node);
    case M::kCompact:
      return answer_compact(node, message.compact());
    case M::kGenerateTitle:
      return answer_generate_title(node, message.generate_title());
    case M::kDescribeContext:
      return answer_describe_context(node, message.describe_context());
    case M::kDescribeSession:
      return answer_describe_session(node, message.describe_session());
    case M::kListModels:
      return answer_list_models(node, message.list_models());
    case M::kSetActiveModel:
      return answer_set_active_model(node, message.set_active_model());
    case M::kListProviders:
      return answer_list_providers(node);
    case M::kTestProvider:
      return answer_test_provider(node, message.test_provider());
    case M::kSaveProvider:
      return answer_save_provider(node, message.save_provider());
    case M::kRemoveProvider:
      return answer_remove_provider(node, message.remove_provider());
    case M::kListAgents:
      return answer_list_agents(node);
    case M::kGetAgent:
      return answer_get_agent(node, message.get_agent());
    case M::kCreateAgent:
      return answer_create_agent(node, message.create_agent());
    case M::kUpdateAgent:
      return answer_update_agent(node, message.update_agent());
    case M::kRenameAgent:
      return answer_rename_agent(node, message.rename_agent());
    case M::kDeleteAgent:
      return answer_delete_agent(node, message.delete_agent());
    case M::kSubscribeEvents:
      return answer_subscribe_events(node, message.subscribe_events());
    case M::kListMcps:
      return answer_list_mcps(node, message.list_mcps());
    case M::kUpsertMcp:
      return answer_upsert_mcp(node, message.upsert_mcp());
    case M::kDeleteMcp:
      return answer_delete_mcp(node, message.delete_mcp());
    case M::kTestMcp:
      return answer_test_mcp(node, message.test_mcp());
    case M::kLoginMcp:
      return answer_login_mcp(node, message.login_mcp());
    case M::kFinishMcpLogin:
      return answer_finish_mcp_login(node, message.finish_mcp_login());
    case M::kLogoutMcp:
      return answer_logout_mcp(node, message.logout_mcp());
    case M::kSubscribeMcpEvents:
      return answer_subscribe_mcp_events(node);
    case M::kListSkills:
      return answer_list_skills(node, message.list_skills());
    case M::kReadSkill:
      return answer_read_skill(node, message.read_skill());
    case M::kSubscribeEvent:
      return answer_subscribe_event(node, message.subscribe_event());
    case M::kUnsubscribeEvent:
      return answer_unsubscribe_event(node, message.unsubscribe_event());
    case M::kListSubscriptions:
      return answer_list_subscriptions(node);
    case M::kPublishEvent:
      return answer_publish_event(node, message.publish_event());
    case M::kListTasks:
      return answer_list_tasks(node);
    case M::kCancelTask:
      return answer_cancel_task(node, message.cancel_task());
    case M::kSubscribeTasks:
      return answer_subscribe_tasks(node);
    case M::kInstallPlugin:
    case M::kUninstallPlugin:
    case M::kListPlugins:
    case M::kSearchPlugins:
    case M::kStartService:
    case M::kStopService:
    case M::kServiceLogs:
    case M::kGetConfig:
      return answer_gone(message);
    default:
      return protocol::answer_with(
          Error(Errc::unsupported,
                fmt::format("operation '{}' is not built yet", protocol::operation_name(message))));
  }
}

}  // namespace reef::server
