// Search over all sessions, and paging through one.

#include <algorithm>
#include <map>

#include "server/server.h"

namespace reef::server {
namespace {

constexpr std::uint32_t kHitsDefault = 10;
constexpr std::uint32_t kMessagesDefault = 50;
constexpr std::uint32_t kMessagesMax = 500;
constexpr std::size_t kMessageBytesMax = 64U << 10;

void fill(protocol::FoundItem& out, recall::Item item) {
  out.set_entry(std::move(item.entry));
  out.set_role(std::string(name_of(item.role)));
  out.set_index(item.index);
  out.set_snippet(std::move(item.snippet));
  out.set_truncated(item.truncated);
  out.set_tool(std::move(item.tool));
  for (const auto& [begin, end] : item.matches) {
    out.add_matches(begin);
    out.add_matches(end);
  }
  out.set_time(format_iso(item.time));
}

Result<recall::Ask> ask_from(const protocol::SearchSessions& request) {
  recall::Ask ask;
  ask.query = request.query();
  ask.limit = request.limit() == 0 ? kHitsDefault : request.limit();
  ask.offset = request.offset();
  if (request.has_context_before()) ask.before = request.context_before();
  if (request.has_context_after()) ask.after = request.context_after();
  ask.by_session = request.by_session();
  ask.last_word_is_prefix = request.as_you_type();
  if (!request.exclude().empty()) {
    REEF_TRY(ask.exclude, session::SessionId::parse(request.exclude()));
  }
  if (!request.agent().empty() || !request.sender().empty())
    ask.allowed = [agent = request.agent(), sender = request.sender()](const session::Row& row) {
      return (agent.empty() || row.agent() == agent) && (sender.empty() || row.sender() == sender);
    };
  return ask;
}

Task<protocol::ServerMessage> search(Node& node, recall::Ask ask) {
  const auto began = std::chrono::steady_clock::now();
  const auto defined = co_await node.definitions.look();
  ask.filter = [defined](const std::string& text) {
    return organise::row_test(text, defined, SystemClock().now());
  };
  protocol::ServerMessage message;
  auto& out = *message.mutable_search_results();
  // Rows while the messages are read; hits of one session share theirs.
  ask.while_reading = [&](const recall::Answer& answer) {
    std::map<session::SessionId, int> filled;
    for (const auto& hit : answer.hits) {
      auto& one = *out.add_hits();
      const auto [first, is_new] = filled.try_emplace(hit.session, out.hits_size() - 1);
      if (!is_new) {
        *one.mutable_session() = out.hits(first->second).session();
      } else if (const auto* row = node.sessions.find(hit.session)) {
        fill(node, *one.mutable_session(), *row);
      }
    }
  };
  auto found = co_await node.recall.search(std::move(ask));
  if (!found) co_return protocol::make_error(found.error());
  int kept = 0;
  for (std::size_t i = 0; i < found->hits.size(); ++i) {
    auto& hit = found->hits[i];
    if (!node.sessions.find(hit.session)) continue;  // gone while it was read
    const auto at = static_cast<int>(i);
    if (kept != at) out.mutable_hits()->SwapElements(kept, at);
    auto& one = *out.mutable_hits(kept++);
    one.set_entry(hit.items[hit.hit].entry);
    one.set_score(hit.score);
    one.set_hit(static_cast<std::uint32_t>(hit.hit));
    for (auto& item : hit.items) fill(*one.add_items(), std::move(item));
  }
  out.mutable_hits()->DeleteSubrange(kept, out.hits_size() - kept);
  out.set_more(found->more);
  const auto took = std::chrono::steady_clock::now() - began;
  out.set_microseconds(static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(took).count()));
  co_return message;
}

Task<protocol::ServerMessage> list_messages(Node& node, session::SessionId id, std::uint64_t offset,
                                            std::size_t limit) {
  auto listed = co_await node.recall.list_messages(std::move(id), offset, limit, kMessageBytesMax);
  if (!listed) co_return protocol::make_error(listed.error());
  protocol::ServerMessage message;
  auto& out = *message.mutable_message_list();
  for (auto& item : listed->items) fill(*out.add_items(), std::move(item));
  out.set_total(listed->total);
  co_return message;
}

}  // namespace

protocol::Answer answer_search_sessions(Node& node, const protocol::SearchSessions& request) {
  auto ask = ask_from(request);
  if (!ask) return protocol::answer_with(ask.error());
  return protocol::answer_with(search(node, *std::move(ask)));
}

protocol::Answer answer_list_messages(Node& node, const protocol::ListMessages& request) {
  auto id = known_session(node, request.id());
  if (!id) return protocol::answer_with(id.error());
  const auto limit =
      request.limit() == 0 ? kMessagesDefault : std::min(request.limit(), kMessagesMax);
  return protocol::answer_with(list_messages(node, *std::move(id), request.offset(), limit));
}

}  // namespace reef::server
