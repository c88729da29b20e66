// Sessions: the history of an agent follows its new name.

#include "base/log.h"
#include "base/shield.h"
#include "session/session.h"

namespace reef::session {
namespace {

// Each append syncs a file of its own.
constexpr int kAtOnce = 16;

}  // namespace

Task<Status> Sessions::rename_agent(std::string from, std::string to) {
  co_return co_await shielded(rename_agent_unshielded(std::move(from), std::move(to)));
}

Task<void> Sessions::follow(std::vector<Move>& moves, std::size_t& next,
                            std::optional<Error>& failed) {
  co_await yield_to_loop();
  while (next < moves.size() && !failed) {
    auto& move = moves[next++];
    const auto done = co_await append_to(move.id, draft_meta(move.patch));
    move.done = done.ok();
    // A session whose folder somebody removed has no history to lose.
    if (!done && done.error().code != Errc::not_found && !failed)
      failed = Error(done.error()).with("session " + move.id.text());
  }
}

Task<Status> Sessions::rename_agent_unshielded(std::string from, std::string to,
                                               std::optional<SessionId> only) {
  std::vector<Move> moves;
  std::vector<std::string> keys;
  for (const auto& [id, row] : rows_) {
    if (only && id != *only) continue;
    Move move{id, {}, {}};
    if (row.agent() == from) {
      move.patch["agent"] = to;
      move.back["agent"] = from;
    }
    const auto key = Key::parse(row.key());
    const auto pair = key ? key->pair() : std::nullopt;
    if (pair && pair->first == from) {
      REEF_CO_TRY(const auto renamed, Key::of_pair(to, pair->second));
      move.patch["key"] = renamed.text();
      move.back["key"] = key->text();
      keys.push_back(renamed.text());
      keys.push_back(key->text());
      // A current session stays current, whatever an earlier agent of the new name left behind. One
      // that comes back from the trash takes no other's place.
      if (current(*key) == id && !only) {
        move.patch["boundAt"] = std::max(row.bound_at(), next_binding(renamed));
        move.back["boundAt"] = row.bound_at();
      }
    }
    if (!move.patch.empty()) moves.push_back(std::move(move));
  }
  std::optional<Error> failed;
  std::size_t next = 0;
  TaskGroup group(loop_, "rename");
  for (int i = 0; i < kAtOnce; ++i) group.spawn(follow(moves, next, failed));
  co_await group.join();
  if (failed) {
    for (const auto& move : moves) {
      if (!move.done) continue;
      const auto undone = co_await append_to(move.id, draft_meta(move.back));
      if (!undone) log::error("session {}: {}", move.id.text(), undone.error().what);
    }
  }
  for (const auto& key : keys) {
    const auto bound = bindings_.find(key);
    if (bound == bindings_.end()) continue;
    const auto* row = find(bound->second);
    if (!row || row->key() != key) bindings_.erase(bound);
  }
  if (failed) co_return *failed;
  if (!moves.empty())
    log::info("{} session(s) of agent {} are agent {}'s now", moves.size(), from, to);
  co_return Ok{};
}

}  // namespace reef::session
