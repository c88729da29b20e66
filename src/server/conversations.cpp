// CrabTalk's view of sessions: list_conversations, list_active_conversations,
// get_conversation_history, delete_conversation (in session_changes.cpp: it is the trash).

#include <ctime>
#include <map>

#include <fmt/format.h>

#include "runtime/runtime.h"
#include "server/crabtalk.h"
#include "server/operations.h"
#include "server/server.h"
#include "server/sessions.h"
#include "session/session.h"

namespace reef::server {
namespace {

struct ConversationsNeeds {
  runtime::Runtime& runtime;
  session::Sessions& sessions;
  Clock& clock;
  static ConversationsNeeds of(const Node& node) {
    return {node.runtime, node.sessions, node.clock};
  }
};

std::string local_day(std::time_t time) {
  std::tm local = {};
  ::localtime_r(&time, &local);
  return fmt::format("{:04}-{:02}-{:02}", local.tm_year + 1900, local.tm_mon + 1, local.tm_mday);
}

// The date as CrabTalk shows it: Today, Yesterday, or the day.
std::string shown_date(TimePoint time, TimePoint today) {
  constexpr std::time_t kDay = 24 * 60 * 60;
  const auto now = std::chrono::system_clock::to_time_t(today);
  const auto day = local_day(std::chrono::system_clock::to_time_t(time));
  if (day == local_day(now)) return "Today";
  if (day == local_day(now - kDay)) return "Yesterday";
  return day;
}

std::uint64_t seconds_between(TimePoint from, TimePoint to) {
  return to <= from ? 0
                    : static_cast<std::uint64_t>(
                          std::chrono::duration_cast<std::chrono::seconds>(to - from).count());
}

Task<protocol::ServerMessage> history(ConversationsNeeds needs, session::SessionId id) {
  const auto transcript = co_await needs.sessions.read(id);
  if (!transcript) co_return protocol::make_error(transcript.error());
  protocol::ServerMessage message;
  auto& out = *message.mutable_conversation_history();
  const auto branch = transcript->branch();
  const auto* row = needs.sessions.find(id);
  const std::string host(row ? row->agent() : std::string_view());
  for (const auto& item : session::build_context(branch).items) {
    if (session::is_hidden(*item.message)) continue;
    const auto role = session::role_of(*item.message);
    const bool summary = std::holds_alternative<session::SummaryMessage>(*item.message);
    if (role != "user" && role != "assistant" && !summary) continue;
    auto& line = *out.add_messages();
    line.set_role(summary ? "user" : std::string(role));
    line.set_content(session::text_of(*item.message));
    if (const auto* reply = std::get_if<session::AssistantMessage>(item.message.get()))
      line.set_agent(reply->agent.empty() ? host : reply->agent);
  }
  if (row) {
    out.set_title(std::string(row->name()));
    out.set_agent(host);
    out.set_agent_id(agent_id(needs.runtime.setup(), row->agent()));
    out.set_agent_name(out.agent());
  }
  co_return message;
}

protocol::Answer answer_list_conversations(ConversationsNeeds needs,
                                           const protocol::ListConversations& request) {
  session::Query query;
  query.agent = request.agent();
  query.sender = request.sender();
  query.sort = session::Query::Sort::created;
  query.ascending = true;
  const auto page = needs.sessions.list(query);
  if (!page) return protocol::answer_with(page.error());
  // The number of a session among those of its pair, oldest first.
  std::map<std::pair<std::string, std::string>, std::uint32_t> counts;
  std::vector<protocol::ConversationInfo> infos;
  for (const auto* row : page->rows) {
    protocol::ConversationInfo info;
    info.set_agent(std::string(row->agent()));
    info.set_sender(std::string(row->sender()));
    info.set_seq(++counts[{info.agent(), info.sender()}]);
    info.set_title(std::string(row->name()));
    info.set_file_path(row->id.text());
    info.set_message_count(row->message_count);
    info.set_alive_secs(seconds_between(row->created, row->updated));
    info.set_date(shown_date(row->updated, needs.clock.now()));
    info.set_agent_id(agent_id(needs.runtime.setup(), row->agent()));
    info.set_agent_name(info.agent());
    infos.push_back(std::move(info));
  }
  std::stable_sort(infos.begin(), infos.end(), [](const auto& a, const auto& b) {
    return a.seq() != b.seq() ? a.seq() > b.seq() : a.agent() < b.agent();
  });
  protocol::ServerMessage message;
  auto& list = *message.mutable_conversation_list();
  for (auto& info : infos) *list.add_conversations() = std::move(info);
  return protocol::answer_with(std::move(message));
}

protocol::Answer answer_active_conversations(ConversationsNeeds needs) {
  protocol::ServerMessage message;
  auto& list = *message.mutable_active_conversations();
  for (const auto& key : needs.runtime.active_keys()) {
    const auto id = needs.sessions.current(key);
    const auto* row = id ? needs.sessions.find(*id) : nullptr;
    if (!row) continue;  // its first message is being written
    auto& info = *list.add_conversations();
    info.set_agent(std::string(row->agent()));
    info.set_sender(std::string(row->sender()));
    info.set_message_count(row->message_count);
    info.set_alive_secs(seconds_between(row->created, needs.clock.now()));
    info.set_title(std::string(row->name()));
    info.set_agent_id(agent_id(needs.runtime.setup(), row->agent()));
    info.set_agent_name(info.agent());
    info.set_session_handle(handle_of(*row));
  }
  return protocol::answer_with(std::move(message));
}

protocol::Answer answer_history(ConversationsNeeds needs,
                                const protocol::GetConversationHistory& request) {
  auto id = known_session(needs.sessions, request.file_path());
  if (!id) return protocol::answer_with(id.error());
  return protocol::answer_with(history(needs, *std::move(id)));
}

}  // namespace

Operations conversations_operations() {
  using M = protocol::ClientMessage;
  using protocol::Right;
  static constexpr Operation kRows[] = {
      {M::kListConversations, Right::read, Messages::one, Naming::none,
       answered<&M::list_conversations, answer_list_conversations>},
      {M::kListActiveConversations, Right::read, Messages::one, Naming::none,
       answered<answer_active_conversations>},
      {M::kGetConversationHistory, Right::read, Messages::one, Naming::none,
       answered<&M::get_conversation_history, answer_history>},
  };
  return kRows;
}

}  // namespace reef::server
