// One change for all sessions a view and a filter hold: patch_sessions, trash_sessions.

#include "server/bulk.h"

#include <algorithm>

#include <boost/asio/this_coro.hpp>
#include <fmt/format.h>

#include "base/shield.h"
#include "base/task_group.h"
#include "organise/changes.h"
#include "organise/definitions.h"
#include "server/operations.h"
#include "server/server.h"
#include "server/sessions.h"
#include "session/session.h"

namespace reef::server {
namespace {

struct BulkNeeds {
  session::Sessions& sessions;
  organise::Definitions& definitions;
  organise::Changes& changes;
  Clock& clock;
  static BulkNeeds of(const Node& node) {
    return {node.sessions, node.definitions, node.changes, node.clock};
  }
};

// So many sessions are changed side by side, so that they share their syncs.
constexpr std::size_t kAtOnce = 64;

struct BulkRequest {
  std::string view, where;
  bool dry_run = false;
  std::optional<std::uint64_t> expected;
  std::optional<organise::Change> change;  // nothing: to the trash
};

template <class Request>
BulkRequest start_request(const Request& in) {
  BulkRequest out;
  out.view = in.view();
  out.where = in.where();
  out.dry_run = in.dry_run();
  if (in.has_expected()) out.expected = in.expected();
  return out;
}

// Each answer tells the outcome of some more sessions, which are changed when it is asked for.
class BulkStream final : public protocol::MessageStream {
 public:
  BulkStream(BulkNeeds needs, BulkRequest request) : needs_(needs), request_(std::move(request)) {}

  Task<std::optional<protocol::ServerMessage>> next() override {
    if (done_) co_return std::nullopt;
    if (!begun_) {
      begun_ = true;
      const auto found = co_await find();
      if (!found) {
        done_ = true;
        co_return protocol::make_error(found.error());
      }
    }
    protocol::ServerMessage message;
    auto& report = *message.mutable_bulk_report();
    // The changes go on to their end when the client leaves, because they write into this report.
    if (!request_.dry_run) static_cast<void>(co_await shielded(change_some(report)));
    done_ = request_.dry_run || at_ == ids_.size();
    report.set_matched(ids_.size());
    report.set_changed(changed_);
    report.set_last(done_);
    co_return message;
  }

 private:
  Task<Status> find() {
    if (request_.view.empty() && request_.where.find_first_not_of(" \t\r\n") == std::string::npos)
      co_return Error(Errc::invalid, "name the sessions by a filter or a view; --view all is all");
    const auto defined = co_await needs_.definitions.look();
    REEF_CO_TRY(const auto filter,
                row_filter(defined, request_.view, request_.where, needs_.clock.now()));
    if (request_.change)
      REEF_CO_CHECK(organise::Changes::check(*request_.change, *defined, nullptr));
    needs_.sessions.visit([&](const session::Row& row) {
      if (!filter || filter(row)) ids_.push_back(row.id);
    });
    if (request_.expected && *request_.expected != ids_.size())
      co_return Error(Errc::conflict,
                      fmt::format("{} session(s) match now, not {}; nothing was changed",
                                  ids_.size(), *request_.expected));
    std::sort(ids_.begin(), ids_.end());
    co_return Ok{};
  }

  Task<Ok> change_some(protocol::BulkReport& report) {
    const auto end = std::min(ids_.size(), at_ + kAtOnce);
    TaskGroup together(co_await boost::asio::this_coro::executor, "bulk");
    for (; at_ < end; ++at_) together.spawn(change_one(ids_[at_], report));
    co_await together.join();
    co_return Ok{};
  }

  Task<void> change_one(session::SessionId id, protocol::BulkReport& report) {
    Result<bool> done = true;
    if (request_.change) {
      done = co_await needs_.changes.apply(id, *request_.change, organise::Changes::Same::skip);
    } else if (auto moved = co_await needs_.sessions.trash(id); !moved) {
      done = std::move(moved).error();
    }
    if (done) {
      changed_ += *done ? 1 : 0;
      co_return;
    }
    auto& failed = *report.add_failed();
    failed.set_id(id.text());
    failed.set_why(done.error().what);
  }

  BulkNeeds needs_;
  BulkRequest request_;
  std::vector<session::SessionId> ids_;
  std::size_t at_ = 0;
  std::uint64_t changed_ = 0;
  bool begun_ = false;
  bool done_ = false;
};

}  // namespace

Result<organise::Change> change_from(
    const std::string& patch, const google::protobuf::RepeatedPtrField<std::string>& add,
    const google::protobuf::RepeatedPtrField<std::string>& remove) {
  organise::Change change;
  change.add_labels.assign(add.begin(), add.end());
  change.remove_labels.assign(remove.begin(), remove.end());
  if (patch.empty() && !(add.empty() && remove.empty())) return change;
  REEF_TRY(auto parsed, json::parse(patch));
  if (!parsed.is_object()) return Error(Errc::invalid, "a patch is a JSON object");
  change.patch = std::move(parsed.get_object());
  return change;
}

namespace {

protocol::Answer answer_patch_sessions(BulkNeeds needs, const protocol::PatchSessions& request) {
  auto bulk = start_request(request);
  auto change = change_from(request.patch(), request.add_labels(), request.remove_labels());
  if (!change) return protocol::answer_with(change.error());
  bulk.change = *std::move(change);
  return std::make_unique<BulkStream>(needs, std::move(bulk));
}

protocol::Answer answer_trash_sessions(BulkNeeds needs, const protocol::TrashSessions& request) {
  return std::make_unique<BulkStream>(needs, start_request(request));
}

}  // namespace

Operations bulk_operations() {
  using M = protocol::ClientMessage;
  using protocol::Right;
  static constexpr Operation kRows[] = {
      {M::kPatchSessions, Right::admin, Messages::many, Naming::ledger,
       answered<&M::patch_sessions, answer_patch_sessions>},
      {M::kTrashSessions, Right::admin, Messages::many, Naming::ledger,
       answered<&M::trash_sessions, answer_trash_sessions>},
  };
  return kRows;
}

}  // namespace reef::server
