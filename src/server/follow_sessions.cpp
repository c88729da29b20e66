// FollowSessions: the rows of a list, then every row that comes, changes or leaves it.
#include <unordered_set>

#include <fmt/format.h>

#include "organise/definitions.h"
#include "server/following.h"
#include "server/operations.h"
#include "server/server.h"
#include "server/sessions.h"
#include "session/session.h"

namespace reef::server {
namespace {

struct FollowSessionsNeeds {
  session::Sessions& sessions;
  organise::Definitions& definitions;
  Clock& clock;
  static FollowSessionsNeeds of(const Node& node) {
    return {node.sessions, node.definitions, node.clock};
  }
};

constexpr std::size_t kRowsAtOnce = 500;
// How exactly a filter like idle>3d is kept: rows that come or leave by themselves are looked for
// so often.
constexpr std::chrono::minutes kAgeStep{1};
// Sessions the reader knows not to be in the list: it is told so once.
constexpr std::size_t kAbsentMax = 4096;

class FollowedSessions final : public Followed {
 public:
  FollowedSessions(FollowSessionsNeeds needs, protocol::ListSessions request)
      : needs_(needs), request_(std::move(request)), limit_(request_.limit()) {
    // The order, and how many come first, are no part of what is in the list.
    request_.clear_cursor();
    request_.clear_limit();
    auto what = request_;
    what.clear_sort();
    what.clear_ascending();
    sum_ = std::hash<std::string>()(what.SerializeAsString());
  }

  ChangeLog& log() override { return needs_.sessions.changes(); }
  protocol::Place& place(protocol::ServerMessage& out) override {
    return *out.mutable_sessions_news()->mutable_place();
  }

  Task<Result<std::string>> look() override {
    auto defined = co_await needs_.definitions.look();
    const bool first = !defined_;
    const bool same = first || defined_ == defined;
    defined_ = std::move(defined);
    if (!first && same) co_return std::string();
    drifted_.clear();
    asked_at_ = needs_.clock.now();
    REEF_CO_TRY(query_, query_from(defined_, request_, asked_at_));
    ages_ = tells_ages();
    co_return std::string(same ? "" : "statuses, labels or views were changed");
  }

  std::string scope() override { return fmt::format("{:x}x{:x}", sum_, defined_->number); }
  // When ages were last counted.
  std::string memo() override {
    return ages_ ? fmt::format("{:x}", unix_millis(drifted_.empty() ? asked_at_ : before_at_)) : "";
  }
  bool take_memo(std::string_view memo) override {
    if (!ages_) return memo.empty();
    std::uint64_t then = 0;
    if (!read_hex(memo, then) || then > static_cast<std::uint64_t>(unix_millis(asked_at_)))
      return false;
    collect_drifted(TimePoint(std::chrono::milliseconds(static_cast<std::int64_t>(then))));
    return true;
  }

  std::vector<std::string> drifted(std::size_t most, bool& more) override {
    const auto now = needs_.clock.now();
    if (ages_ && drifted_.empty() && now - asked_at_ >= kAgeStep) {
      const auto then = std::exchange(asked_at_, now);
      if (auto query = query_from(defined_, request_, now)) query_ = *std::move(query);
      collect_drifted(then);
    }
    std::vector<std::string> keys;
    while (!drifted_.empty() && keys.size() < most) {
      keys.push_back(std::move(drifted_.back()));
      drifted_.pop_back();
    }
    more = !drifted_.empty();
    return keys;
  }

  Task<Result<bool>> tell_all(protocol::ServerMessage& out, bool first) override {
    if (first) {
      left_ = limit_;
      query_.cursor.clear();
      absent_.clear();
      drifted_.clear();
    }
    auto part = query_;
    part.limit = limit_ > 0 ? std::min(left_, kRowsAtOnce) : kRowsAtOnce;
    REEF_CO_TRY(const auto page, needs_.sessions.list(part));
    auto& news = *out.mutable_sessions_news();
    for (const auto* row : page.rows) server::fill(*news.add_sessions(), *row, needs_.definitions);
    left_ -= std::min(left_, page.rows.size());
    query_.cursor = page.cursor;
    const bool last = page.cursor.empty() || (limit_ > 0 && left_ == 0);
    if (!last) co_return false;
    news.set_more(page.cursor);
    news.set_total(page.total);
    query_.cursor.clear();
    co_return true;
  }

  Task<std::size_t> tell(protocol::ServerMessage& out, std::string key) override {
    const auto id = session::SessionId::parse(key);
    const auto* row = id ? needs_.sessions.find(*id) : nullptr;
    auto& news = *out.mutable_sessions_news();
    if (row && session::matches(query_, *row)) {
      absent_.erase(key);
      auto& added = *news.add_sessions();
      server::fill(added, *row, needs_.definitions);
      co_return added.ByteSizeLong();
    }
    if (absent_.size() >= kAbsentMax) absent_.clear();
    if (!absent_.insert(key).second) co_return 0;
    news.add_left(key);
    co_return key.size();
  }

 private:
  void collect_drifted(TimePoint then) {
    const auto before = query_from(defined_, request_, then);
    if (!before) return;
    before_at_ = then;
    needs_.sessions.visit([&](const session::Row& row) {
      if (session::matches(*before, row) != session::matches(query_, row))
        drifted_.push_back(row.id.text());
    });
  }

  // Whether rows come and leave without being changed. By the words alone: too often costs little.
  bool tells_ages() const {
    auto words = request_.where();
    if (!request_.view().empty())
      if (const auto view = defined_->views.find(request_.view())) words += (*view)->filter;
    return words.find("idle") != std::string::npos || words.find("age") != std::string::npos;
  }

  FollowSessionsNeeds needs_;
  protocol::ListSessions request_;
  std::size_t limit_;
  std::size_t sum_ = 0;
  std::shared_ptr<const organise::Defined> defined_;
  session::Query query_;
  TimePoint asked_at_;  // what ages are counted to
  bool ages_ = false;
  TimePoint before_at_;               // and were
  std::vector<std::string> drifted_;  // what came or left between the two, and is not yet told
  std::size_t left_ = 0;              // of the limit
  std::unordered_set<std::string> absent_;
};

protocol::Answer answer_follow_sessions(FollowSessionsNeeds needs,
                                        const protocol::FollowSessions& request) {
  return follow(std::make_unique<FollowedSessions>(needs, request.query()), request.cursor());
}

}  // namespace

Operations follow_sessions_operations() {
  using M = protocol::ClientMessage;
  using protocol::Right;
  static constexpr Operation kRows[] = {
      {M::kFollowSessions, Right::read, Messages::many, Naming::none,
       answered<&M::follow_sessions, answer_follow_sessions>},
  };
  return kRows;
}

}  // namespace reef::server
