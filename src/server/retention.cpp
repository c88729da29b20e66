// Collecting garbage: sessions long archived or in the trash. It never happens by itself.

#include "base/shield.h"
#include "server/operations.h"
#include "server/server.h"
#include "session/session.h"
#include "session/transcripts.h"

namespace reef::server {
namespace {

struct RetentionNeeds {
  session::Sessions& sessions;
  session::Transcripts& store;
  Clock& clock;
  static RetentionNeeds of(const Node& node) { return {node.sessions, node.store, node.clock}; }
};

constexpr std::uint32_t kDaysDefault = 30;

// Tells one session after the other, and removes each when it is asked for.
class GarbageStream final : public protocol::MessageStream {
 public:
  GarbageStream(RetentionNeeds needs, const protocol::CollectGarbage& request)
      : needs_(needs),
        archived_days_(request.has_archived_days() ? request.archived_days() : kDaysDefault),
        trash_days_(request.has_trash_days() ? request.trash_days() : kDaysDefault),
        remove_(request.remove()) {}

  Task<std::optional<protocol::ServerMessage>> next() override {
    if (done_) co_return std::nullopt;
    if (!planned_) {
      planned_ = true;
      const auto planned = co_await plan();
      if (!planned) {
        done_ = true;
        co_return protocol::make_error(planned.error());
      }
    }
    protocol::ServerMessage message;
    auto& report = *message.mutable_garbage_report();
    if (at_ == items_.size()) {
      done_ = true;
      report.set_last(true);
      report.set_sessions(counted_);
      report.set_bytes(bytes_);
      report.set_removed(remove_);
      co_return message;
    }
    const auto& item = items_[at_++];
    report.set_id(item.id.text());
    report.set_why(item.archived ? "archived" : "trash");
    report.set_since(format_iso(item.since));
    report.set_bytes(item.bytes);
    if (remove_) {
      const auto removed = co_await shielded(item.archived ? needs_.sessions.trash(item.id)
                                                           : needs_.store.purge(item.id));
      report.set_removed(removed.ok());
      if (!removed) {
        report.set_error(protocol::make_error(removed.error()).error().message());
        co_return message;
      }
    }
    ++counted_;
    bytes_ += item.bytes;
    co_return message;
  }

 private:
  struct Item {
    session::SessionId id;
    TimePoint since;
    bool archived;
    std::uint64_t bytes = 0;
  };

  Task<Status> plan() {
    const auto now = needs_.clock.now();
    session::Query archived;
    archived.archived = true;
    REEF_CO_TRY(const auto page, needs_.sessions.list(archived));
    for (const auto* row : page.rows)
      if (row->archived_at() <= now - std::chrono::days(archived_days_))
        items_.push_back(Item{row->id, row->archived_at(), true});
    co_await measure(0, session::Transcripts::Place::sessions);

    const auto first_of_trash = items_.size();
    REEF_CO_TRY(const auto trashed, co_await needs_.store.trashed());
    for (const auto& [id, since] : trashed)
      if (since <= now - std::chrono::days(trash_days_)) items_.push_back(Item{id, since, false});
    co_await measure(first_of_trash, session::Transcripts::Place::trash);
    co_return Ok{};
  }

  Task<void> measure(std::size_t from, session::Transcripts::Place place) {
    std::vector<session::SessionId> ids;
    for (std::size_t i = from; i < items_.size(); ++i) ids.push_back(items_[i].id);
    const auto sizes = co_await needs_.store.measure(std::move(ids), place);
    for (std::size_t i = from; i < items_.size(); ++i) items_[i].bytes = sizes.at(i - from);
  }

  RetentionNeeds needs_;
  std::uint32_t archived_days_;
  std::uint32_t trash_days_;
  bool remove_;
  bool planned_ = false;
  bool done_ = false;
  std::vector<Item> items_;
  std::size_t at_ = 0;
  std::uint64_t counted_ = 0;
  std::uint64_t bytes_ = 0;
};

protocol::Answer answer_collect_garbage(RetentionNeeds needs,
                                        const protocol::CollectGarbage& request) {
  return std::make_unique<GarbageStream>(needs, request);
}

}  // namespace

Operations retention_operations() {
  using M = protocol::ClientMessage;
  using protocol::Right;
  static constexpr Operation kRows[] = {
      {M::kCollectGarbage, Right::admin, Messages::many, Naming::ledger,
       answered<&M::collect_garbage, answer_collect_garbage>},
  };
  return kRows;
}

}  // namespace reef::server
