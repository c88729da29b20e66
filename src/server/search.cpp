// Search over all sessions, and paging through one.

#include <algorithm>
#include <array>
#include <span>
#include <unordered_map>

#include "protocol/encoder.h"
#include "server/operations.h"
#include "server/server.h"

namespace reef::server {
namespace {

constexpr std::uint32_t kHitsDefault = 10;
constexpr std::uint32_t kMessagesDefault = 50;
constexpr std::uint32_t kMessagesMax = 500;
constexpr std::size_t kMessageBytesMax = 64U << 10;
// Limit of a page: half of what a frame holds.
constexpr std::size_t kMessagesBytesMax = 8U << 20;

void fill(protocol::FoundItem& out, recall::Item item) {
  out.set_entry(std::move(item.entry));
  out.set_role(std::string(name_of(item.role)));
  out.set_index(item.index);
  out.set_snippet(std::move(item.snippet));
  out.set_truncated(item.truncated);
  out.set_tool(std::move(item.tool));
  out.set_agent(std::move(item.agent));
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

// An answer has a hundred and more items, and is asked for often. So items are encoded directly,
// without making objects of them.
void encode(const recall::Item& item, std::string& bytes) {
  using Out = protocol::FoundItem;
  protocol::Encoder out(bytes);
  out.text(Out::kEntryFieldNumber, item.entry);
  out.text(Out::kRoleFieldNumber, name_of(item.role));
  out.number(Out::kIndexFieldNumber, item.index);
  out.text(Out::kSnippetFieldNumber, item.snippet);
  out.flag(Out::kTruncatedFieldNumber, item.truncated);
  out.text(Out::kToolFieldNumber, item.tool);
  if (!item.matches.empty()) {
    std::vector<std::uint32_t> matches;
    matches.reserve(item.matches.size() * 2);
    for (const auto& [begin, end] : item.matches) matches.insert(matches.end(), {begin, end});
    out.numbers(Out::kMatchesFieldNumber, matches);
  }
  out.text(Out::kTimeFieldNumber, IsoText(item.time).text());
  out.text(Out::kAgentFieldNumber, item.agent);
}

// The large parts of an answer, encoded.
struct Parts {
  struct Slice {
    std::size_t stretch = 0, from = 0, size = 0;
  };
  struct Hit {
    std::size_t session = 0;  // which of `sessions`
    std::array<Slice, recall::kWindowMax> items{};
  };
  std::vector<std::string> sessions = std::vector<std::string>(recall::kHitsMax);
  std::vector<Hit> hits = std::vector<Hit>(recall::kHitsMax);
  // Items one after the other; each string is written by one thread at a time.
  std::vector<std::string> stretches =
      std::vector<std::string>(recall::kHitsMax * recall::kWindowMax);

  void add(std::size_t stretch, std::span<const recall::ItemPlace> places,
           const recall::Item& item) {
    constexpr std::size_t kUsualBytes = 10U << 10;
    auto& bytes = stretches[stretch];
    if (bytes.empty()) bytes.reserve(kUsualBytes);
    const auto from = bytes.size();
    encode(item, bytes);
    for (const auto& [hit, at] : places) hits[hit].items[at] = {stretch, from, bytes.size() - from};
  }
  std::string_view of(const Slice& slice) const {
    return std::string_view(stretches[slice.stretch]).substr(slice.from, slice.size);
  }
};

// Encodes SearchResults, except what is known only at the end.
std::string encode(const Node& node, const recall::SearchResult& answer, const Parts& parts) {
  using protocol::Encoder;
  using Out = protocol::FoundHit;
  constexpr auto kHits = protocol::SearchResults::kHitsFieldNumber;
  constexpr std::size_t kEndBytes = 32;
  struct Hit {
    std::string head;
    std::span<const Parts::Slice> items;
    std::size_t size;
  };
  std::vector<Hit> hits;
  hits.reserve(answer.hits.size());
  std::size_t all = kEndBytes;
  for (std::size_t i = 0; i < answer.hits.size(); ++i) {
    const auto& found = answer.hits[i];
    if (!node.sessions.find(found.session)) continue;  // gone while it was read
    auto& hit = hits.emplace_back();
    Encoder out(hit.head);
    out.text(Out::kSessionFieldNumber, parts.sessions[parts.hits[i].session]);
    out.text(Out::kEntryFieldNumber, found.entry);
    out.real(Out::kScoreFieldNumber, found.score);
    out.number(Out::kHitFieldNumber, found.hit);
    hit.items = std::span(parts.hits[i].items).first(found.count);
    hit.size = hit.head.size();
    for (const auto& item : hit.items)
      hit.size += Encoder::message_size(Out::kItemsFieldNumber, item.size);
    all += Encoder::message_size(kHits, hit.size);
  }
  std::string bytes;
  bytes.reserve(all);
  Encoder out(bytes);
  for (const auto& hit : hits) {
    out.start(kHits, hit.size);
    bytes += hit.head;
    for (const auto& item : hit.items) out.message(Out::kItemsFieldNumber, parts.of(item));
  }
  return bytes;
}

Task<protocol::ServerMessage> search(Node& node, recall::Ask ask) {
  const auto loop = co_await boost::asio::this_coro::executor;
  const auto began = steady_now(loop);
  // Used for the rows of the answer, too.
  const auto defined = co_await node.definitions.look();
  ask.filter = [defined](const std::string& text) {
    return organise::row_test(text, defined, SystemClock().now());
  };
  Parts parts;
  // Fills the rows while the messages are read; hits of one session share its row.
  ask.while_reading = [&](const recall::SearchResult& answer) {
    std::unordered_map<std::string_view, std::size_t> first_of;
    protocol::SessionRow filled;
    for (std::size_t i = 0; i < answer.hits.size(); ++i) {
      const auto& id = answer.hits[i].session;
      const auto [first, is_new] = first_of.try_emplace(id.text(), i);
      parts.hits[i].session = first->second;
      const auto* row = is_new ? node.sessions.find(id) : nullptr;
      if (!row) continue;
      fill(node, filled, *row);
      filled.SerializeToString(&parts.sessions[i]);
    }
  };
  ask.use_item = [&](std::size_t stretch, std::span<const recall::ItemPlace> places,
                     recall::Item& item) { parts.add(stretch, places, item); };
  auto found = co_await node.recall.search(std::move(ask));
  if (!found) co_return protocol::make_error(found.error());
  using Out = protocol::SearchResults;
  auto bytes = encode(node, *found, parts);
  protocol::Encoder out(bytes);
  out.flag(Out::kMoreFieldNumber, found->more);
  const auto took = steady_now(loop) - began;
  out.number(Out::kMicrosecondsFieldNumber,
             static_cast<std::uint64_t>(
                 std::chrono::duration_cast<std::chrono::microseconds>(took).count()));
  co_return protocol::make_encoded(protocol::ServerMessage::kSearchResultsFieldNumber,
                                   std::move(bytes));
}

Task<protocol::ServerMessage> list_messages(Node& node, session::SessionId id, std::uint64_t offset,
                                            std::size_t limit) {
  auto listed = co_await node.recall.list_messages(id, offset, limit, kMessageBytesMax);
  if (!listed) co_return protocol::make_error(listed.error());
  const auto* row = node.sessions.find(id);
  const std::string host(row ? row->agent() : std::string_view());
  protocol::ServerMessage message;
  auto& out = *message.mutable_message_list();
  std::size_t bytes = 0;
  for (auto& item : listed->items) {
    auto& added = *out.add_items();
    if (item.role == recall::Role::assistant && item.agent.empty()) item.agent = host;
    fill(added, std::move(item));
    bytes += added.ByteSizeLong();
    if (bytes <= kMessagesBytesMax || out.items_size() == 1) continue;
    // The rest is for the next page.
    out.mutable_items()->RemoveLast();
    break;
  }
  out.set_total(listed->total);
  co_return message;
}

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

}  // namespace

Operations search_operations() {
  using M = protocol::ClientMessage;
  using protocol::Right;
  static constexpr Operation kRows[] = {
      {M::kSearchSessions, Right::read, Answers::once,
       answered<&M::search_sessions, answer_search_sessions>},
      {M::kListMessages, Right::read, Answers::once,
       answered<&M::list_messages, answer_list_messages>},
  };
  return kRows;
}

}  // namespace reef::server
