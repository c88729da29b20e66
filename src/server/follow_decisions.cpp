// FollowDecisions: what waits to be decided, then every decision that comes, is settled or goes.
#include <unordered_set>

#include <fmt/format.h>

#include "base/log.h"
#include "runtime/runtime.h"
#include "server/decisions.h"
#include "server/following.h"
#include "server/operations.h"
#include "server/server.h"
#include "server/sessions.h"
#include "session/session.h"

namespace reef::server {
namespace {

// Decisions the reader knows not to be there: it is told so once.
constexpr std::size_t kGoneMax = 4096;
// What is asked about may be long.
constexpr std::size_t kDecisionsAtOnce = 20;

struct FollowDecisionsNeeds {
  runtime::Runtime& runtime;
  session::Sessions& sessions;
  static FollowDecisionsNeeds of(const Node& node) { return {node.runtime, node.sessions}; }
};

class FollowedDecisions final : public Followed {
 public:
  FollowedDecisions(FollowDecisionsNeeds needs, const protocol::FollowDecisions& request)
      : needs_(needs),
        query_{request.session_id(), request.agent(), request.sender()},
        watch_(needs.runtime.decision_changes().watch()) {
    auto what = request;
    what.clear_cursor();
    sum_ = std::hash<std::string>()(what.SerializeAsString());
  }

  ChangeLog& log() override { return needs_.runtime.decision_changes().log(); }
  protocol::Place& place(protocol::ServerMessage& out) override {
    return *out.mutable_decisions_news()->mutable_place();
  }
  std::string scope() override { return fmt::format("{:x}", sum_); }

  Task<Result<bool>> tell_all(protocol::ServerMessage& out, bool first) override {
    if (first) {
      query_.cursor.clear();
      gone_.clear();
    }
    auto part = query_;
    part.limit = kDecisionsAtOnce;
    REEF_CO_TRY(const auto page, co_await needs_.runtime.decisions().list(std::move(part)));
    for (const auto& one : page.decisions)
      server::fill(*out.mutable_decisions_news()->add_decisions(), one);
    query_.cursor = page.cursor;
    co_return page.cursor.empty();
  }

  Task<std::size_t> tell(protocol::ServerMessage& out, std::string id) override {
    const auto shown = co_await needs_.runtime.decisions().shown(id);
    // Lists leave out what cannot be read.
    if (!shown) log::warn("decision {}: {}", id, shown.error().what);
    auto& news = *out.mutable_decisions_news();
    if (shown && *shown && is_wanted(**shown)) {
      gone_.erase(id);
      auto& added = *news.add_decisions();
      server::fill(added, **shown);
      co_return added.ByteSizeLong();
    }
    if (gone_.size() >= kGoneMax) gone_.clear();
    if (!gone_.insert(id).second) co_return 0;
    news.add_gone(id);
    co_return id.size();
  }

 private:
  // By the row, as lists are.
  bool is_wanted(const runtime::Decision& decision) const {
    const auto id = session::SessionId::parse(decision.session);
    const auto* row = id ? needs_.sessions.find(*id) : nullptr;
    return row && (query_.session.empty() || query_.session == decision.session) &&
           (query_.agent.empty() || query_.agent == row->agent()) &&
           (query_.sender.empty() || query_.sender == row->sender());
  }

  FollowDecisionsNeeds needs_;
  runtime::Decisions::Query query_;
  std::size_t sum_ = 0;
  std::shared_ptr<void> watch_;
  std::unordered_set<std::string> gone_;
};

protocol::Answer answer_follow_decisions(FollowDecisionsNeeds needs,
                                         const protocol::FollowDecisions& request) {
  if (!request.session_id().empty())
    if (const auto known = known_session(needs.sessions, request.session_id()); !known)
      return protocol::answer_with(known.error());
  return follow(std::make_unique<FollowedDecisions>(needs, request), request.cursor());
}

}  // namespace

Operations follow_decisions_operations() {
  using M = protocol::ClientMessage;
  using protocol::Right;
  static constexpr Operation kRows[] = {
      {M::kFollowDecisions, Right::read, Messages::many, Naming::none,
       answered<&M::follow_decisions, answer_follow_decisions>},
  };
  return kRows;
}

}  // namespace reef::server
