// Search over all sessions, and paging through one.

#include <algorithm>
#include <span>
#include <unordered_map>

#include "organise/definitions.h"
#include "recall/recall.h"
#include "server/operations.h"
#include "server/search_answer.h"
#include "server/server.h"
#include "server/sessions.h"
#include "session/session.h"

namespace reef::server {
namespace {

struct SearchNeeds {
  recall::Recall& recall;
  session::Sessions& sessions;
  organise::Definitions& definitions;
  Clock& clock;
  static SearchNeeds of(const Node& node) {
    return {node.recall, node.sessions, node.definitions, node.clock};
  }
};

constexpr std::uint32_t kHitsDefault = 10;
constexpr std::uint32_t kMessagesDefault = 50;
constexpr std::uint32_t kMessagesMax = 500;
constexpr std::size_t kMessageBytesMax = 64U << 10;
// Limit of a page: half of what a frame holds.
constexpr std::size_t kMessagesBytesMax = 8U << 20;

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

Task<Result<protocol::Encoded>> search(SearchNeeds needs, recall::Ask ask) {
  const auto loop = co_await boost::asio::this_coro::executor;
  const auto began = steady_now(loop);
  // Used for the rows of the answer, too.
  const auto defined = co_await needs.definitions.look();
  ask.filter = [defined, &clock = needs.clock](const std::string& text) {
    return organise::row_test(text, defined, clock.now());
  };
  SearchAnswer answer;
  // Fills the rows while the messages are read; hits of one session share its row.
  ask.while_reading = [&](const recall::SearchResult& result) {
    std::unordered_map<std::string_view, std::size_t> first_of;
    protocol::SessionRow filled;
    for (std::size_t i = 0; i < result.hits.size(); ++i) {
      const auto& id = result.hits[i].session;
      const auto [first, is_new] = first_of.try_emplace(id.text(), i);
      if (!is_new) {
        answer.share_session(i, first->second);
      } else if (const auto* row = needs.sessions.find(id)) {
        server::fill(filled, *row, needs.definitions);
        answer.add_session(i, filled);
      }
    }
  };
  ask.use_item = [&](std::size_t stretch, std::span<const recall::ItemPlace> places,
                     recall::Item& item) { answer.add(stretch, places, item); };
  REEF_CO_TRY(const auto result, co_await needs.recall.search(std::move(ask)));
  // Some may be gone by now.
  for (std::size_t i = 0; i < result.hits.size(); ++i)
    if (!needs.sessions.find(result.hits[i].session)) answer.leave_out(i);
  const auto took = steady_now(loop) - began;
  co_return answer.encode(result, std::chrono::duration_cast<std::chrono::microseconds>(took));
}

Task<Result<protocol::Encoded>> list_messages(SearchNeeds needs, session::SessionId id,
                                              std::uint64_t offset, std::size_t limit) {
  REEF_CO_TRY(auto listed,
              co_await needs.recall.list_messages(id, offset, limit, kMessageBytesMax));
  const auto* row = needs.sessions.find(id);
  const std::string host(row ? row->agent() : std::string_view());
  for (auto& item : listed.items)
    if (item.role == recall::Role::assistant && item.agent.empty()) item.agent = host;
  co_return encode_messages(listed.items, listed.total, kMessagesBytesMax);
}

protocol::Answer answer_search_sessions(SearchNeeds needs,
                                        const protocol::SearchSessions& request) {
  auto ask = ask_from(request);
  if (!ask) return protocol::answer_with(ask.error());
  return std::make_unique<protocol::EncodedAnswer>(search(needs, *std::move(ask)));
}

protocol::Answer answer_list_messages(SearchNeeds needs, const protocol::ListMessages& request) {
  auto id = known_session(needs.sessions, request.id());
  if (!id) return protocol::answer_with(id.error());
  const auto limit =
      request.limit() == 0 ? kMessagesDefault : std::min(request.limit(), kMessagesMax);
  return std::make_unique<protocol::EncodedAnswer>(
      list_messages(needs, *std::move(id), request.offset(), limit));
}

}  // namespace

Operations search_operations() {
  using M = protocol::ClientMessage;
  using protocol::Right;
  static constexpr Operation kRows[] = {
      {M::kSearchSessions, Right::read, Messages::one, Naming::none,
       answered<&M::search_sessions, answer_search_sessions>},
      {M::kListMessages, Right::read, Messages::one, Naming::none,
       answered<&M::list_messages, answer_list_messages>},
  };
  return kRows;
}

}  // namespace reef::server
