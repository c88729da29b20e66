#include "runtime/decision_changes.h"

#include "runtime/decisions.h"

namespace reef::runtime {
namespace {

// How often it is looked whether time is up.
constexpr std::chrono::seconds kLookStep{1};

}  // namespace

DecisionChanges::DecisionChanges(Executor loop, session::Sessions& sessions, Decisions& decisions)
    : sessions_(sessions), decisions_(decisions), log_(loop), tasks_(loop, "decision changes") {
  decisions_.on_change([this](const Decision& decision) { take(decision); });
}

DecisionChanges::Shown DecisionChanges::shown_in(const session::Row& row) {
  Shown out{std::string(row.key()), std::string(row.agent()), std::string(row.sender()), {}};
  for (const auto& one : row.waiting) out.ids.insert(one.id);
  return out;
}

void DecisionChanges::take(const Decision& decision) {
  log_.touch(decision.id);
  const auto id = session::SessionId::parse(decision.session);
  if (!begun_ || !id) return;
  const auto known = shown_.find(*id);
  if (known == shown_.end()) {
    if (const auto* row = sessions_.find(*id); row && !row->waiting.empty())
      shown_.emplace(*id, shown_in(*row));
  } else if (decision.state == Decision::State::pending) {
    known->second.ids.insert(decision.id);
  } else {
    known->second.ids.erase(decision.id);
  }
}

std::shared_ptr<void> DecisionChanges::watch() {
  look();
  ++watchers_;
  if (!watch_) watch_ = tasks_.spawn(keep_watch());
  return {nullptr, [this](void*) { --watchers_; }};
}

void DecisionChanges::look() {
  auto& changes = sessions_.changes();
  if (!begun_ || !changes.remembers(seen_)) {
    shown_.clear();
    for (const auto& id : sessions_.waiting())
      if (const auto* row = sessions_.find(id)) shown_.emplace(id, shown_in(*row));
    doubtful_ = sessions_.waiting();
    if (std::exchange(begun_, true)) log_.give_up_all();
  } else {
    for (const auto& change : changes.after(seen_, SIZE_MAX))
      if (const auto id = session::SessionId::parse(change.key)) compare(*id);
  }
  seen_ = changes.version();
}

void DecisionChanges::compare(const session::SessionId& id) {
  const auto* row = sessions_.find(id);
  const auto known = shown_.find(id);
  const bool waits = row && !row->waiting.empty();
  if (!waits && known == shown_.end()) return;
  const auto before = known == shown_.end() ? Shown() : known->second;
  const auto now = waits ? shown_in(*row) : Shown();
  const bool moved =
      std::tie(before.key, before.agent, before.sender) != std::tie(now.key, now.agent, now.sender);
  for (const auto& one : before.ids)
    if (moved || !now.ids.contains(one)) log_.touch(one);
  for (const auto& one : now.ids)
    if (!before.ids.contains(one)) log_.touch(one);
  if (waits) {
    shown_.insert_or_assign(id, now);
    doubtful_.insert(id);
  } else {
    shown_.erase(known);
    for (const auto& one : before.ids) expired_.erase(one);
  }
}

Task<void> DecisionChanges::keep_watch() {
  struct Leave {
    std::optional<TaskGroup::Id>& watch;
    ~Leave() { watch.reset(); }
  } const leave{watch_};
  co_await yield_to_loop();
  while (watchers_ > 0) {
    look();
    co_await close_over();
    if (sessions_.changes().version() != seen_) continue;
    co_await sessions_.changes().changed().wait_for(kLookStep);
  }
}

Task<void> DecisionChanges::close_over() {
  for (const auto& id : sessions_.waiting())
    for (const auto& one : decisions_.expired_in(id))
      if (expired_.insert(one).second) doubtful_.insert(id);
  auto doubtful = std::exchange(doubtful_, {});
  for (const auto& id : doubtful) {
    const auto over = co_await decisions_.close_over(id);
    // Its turn goes on; what becomes of the decision is seen then.
    if (!over) doubtful_.insert(id);
    // Decisions that could not be closed wait no more all the same.
    for (const auto& one : over.value_or(std::vector<std::string>())) log_.touch(one);
  }
}

Task<void> DecisionChanges::stop() {
  tasks_.cancel();
  co_await tasks_.join();
}

}  // namespace reef::runtime
