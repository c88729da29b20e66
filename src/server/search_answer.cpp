#include "server/search_answer.h"

#include "protocol/encoder.h"

namespace reef::server {
namespace {

using protocol::Encoder;

void encode(const recall::Item& item, std::string& bytes) {
  using Out = protocol::FoundItem;
  Encoder out(bytes);
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

}  // namespace

void SearchAnswer::add_session(std::size_t hit, const protocol::SessionRow& row) {
  hits_[hit].session = sessions_.size();
  row.SerializeToString(&sessions_.emplace_back());
}

void SearchAnswer::add(std::size_t stretch, std::span<const recall::ItemPlace> places,
                       const recall::Item& item) {
  constexpr std::size_t kUsualBytes = 10U << 10;
  auto& bytes = stretches_[stretch];
  if (bytes.empty()) bytes.reserve(kUsualBytes);
  const auto from = bytes.size();
  server::encode(item, bytes);
  for (const auto& [hit, at] : places) hits_[hit].items[at] = {stretch, from, bytes.size() - from};
}

protocol::Encoded SearchAnswer::encode(const recall::SearchResult& result,
                                       std::chrono::microseconds took) const {
  using Out = protocol::FoundHit;
  using Results = protocol::SearchResults;
  constexpr std::size_t kEndBytes = 32;
  struct Written {
    std::string head;
    std::span<const Slice> items;
    std::size_t size;
  };
  std::vector<Written> hits;
  hits.reserve(result.hits.size());
  std::size_t all = kEndBytes;
  for (std::size_t i = 0; i < result.hits.size(); ++i) {
    const auto& found = result.hits[i];
    if (hits_[i].session == SIZE_MAX) continue;
    auto& hit = hits.emplace_back();
    Encoder out(hit.head);
    out.text(Out::kSessionFieldNumber, sessions_[hits_[i].session]);
    out.text(Out::kEntryFieldNumber, found.entry);
    out.real(Out::kScoreFieldNumber, found.score);
    out.number(Out::kHitFieldNumber, found.hit);
    hit.items = std::span(hits_[i].items).first(found.count);
    hit.size = hit.head.size();
    for (const auto& item : hit.items)
      hit.size += Encoder::message_size(Out::kItemsFieldNumber, item.size);
    all += Encoder::message_size(Results::kHitsFieldNumber, hit.size);
  }
  protocol::Encoded encoded{protocol::ServerMessage::kSearchResults, {}};
  auto& bytes = encoded.bytes;
  bytes.reserve(all);
  Encoder out(bytes);
  for (const auto& hit : hits) {
    out.start(Results::kHitsFieldNumber, hit.size);
    bytes += hit.head;
    for (const auto& item : hit.items) out.message(Out::kItemsFieldNumber, bytes_of(item));
  }
  out.flag(Results::kMoreFieldNumber, result.more);
  out.number(Results::kMicrosecondsFieldNumber, static_cast<std::uint64_t>(took.count()));
  return encoded;
}

protocol::Encoded encode_messages(std::span<const recall::Item> items, std::uint64_t total,
                                  std::size_t bytes_max) {
  using Out = protocol::MessageList;
  protocol::Encoded encoded{protocol::ServerMessage::kMessageList, {}};
  Encoder out(encoded.bytes);
  std::string one;
  for (const auto& item : items) {
    one.clear();
    encode(item, one);
    const auto size = Encoder::message_size(Out::kItemsFieldNumber, one.size());
    if (!encoded.bytes.empty() && encoded.bytes.size() + size > bytes_max) break;
    out.message(Out::kItemsFieldNumber, one);
  }
  out.number(Out::kTotalFieldNumber, total);
  return encoded;
}

}  // namespace reef::server
