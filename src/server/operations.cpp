#include "server/operations.h"

#include <algorithm>

#include "base/assert.h"

namespace reef::server {
namespace {

std::vector<Operation> collect() {
  std::vector<Operation> rows;
  for (const auto group : {
           agents_operations(),         backups_operations(),
           bulk_operations(),           compactions_operations(),
           contexts_operations(),       conversations_operations(),
           crabtalk_operations(),       decisions_operations(),
           events_operations(),         exports_operations(),
           files_operations(),          follow_decisions_operations(),
           follow_entries_operations(), follow_sessions_operations(),
           imports_operations(),        mcp_logins_operations(),
           mcps_operations(),           memories_operations(),
           models_operations(),         node_operations(),
           organise_operations(),       permissions_operations(),
           questions_operations(),      retention_operations(),
           search_operations(),         session_changes_operations(),
           sessions_operations(),       skills_operations(),
           subscriptions_operations(),  tasks_operations(),
           turns_operations(),          usage_operations(),
       })
    rows.insert(rows.end(), group.begin(), group.end());
  std::sort(rows.begin(), rows.end(),
            [](const Operation& a, const Operation& b) { return a.kind < b.kind; });
  const auto twice =
      std::adjacent_find(rows.begin(), rows.end(),
                         [](const Operation& a, const Operation& b) { return a.kind == b.kind; });
  REEF_ASSERT(twice == rows.end());
  return rows;
}

}  // namespace

session::ClientMark mark_of(const protocol::ClientMessage& message) {
  session::ClientMark mark;
  mark.id = message.client_id();
  const auto* operation = message.GetDescriptor()->FindFieldByNumber(message.msg_case());
  if (operation && operation->message_type()) {
    const auto& fields = message.GetReflection()->GetMessage(message, operation);
    for (const auto* name : {"sender", "by"})
      if (const auto* field = operation->message_type()->FindFieldByName(name))
        mark.sender = fields.GetReflection()->GetString(fields, field);
  }
  auto plain = message;
  plain.clear_client_id();
  plain.clear_request_id();
  mark.sum = session::fingerprint({plain.SerializeAsString()});
  return mark;
}

const std::vector<Operation>& all_operations() {
  static const std::vector<Operation> rows = collect();
  return rows;
}

const Operation* find_operation(protocol::ClientMessage::MsgCase kind) {
  const auto& rows = all_operations();
  const auto found =
      std::lower_bound(rows.begin(), rows.end(), kind,
                       [](const Operation& row, protocol::ClientMessage::MsgCase wanted) {
                         return row.kind < wanted;
                       });
  return found != rows.end() && found->kind == kind ? &*found : nullptr;
}

}  // namespace reef::server
