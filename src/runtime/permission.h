// Decides whether a tool may be called: from the session's mode, what was allowed for good in it,
// and what the user says when asked (docs/permissions.md). Loop thread only.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/notify.h"
#include "runtime/hook.h"
#include "session/session.h"

namespace reef::runtime {

// safe, ask, allow-all
std::string_view name_of(PermissionMode mode);
std::optional<PermissionMode> mode_from(std::string_view name);

// False for senders and conversations of a gateway, whose names carry its prefix: telegram:7,
// agent:reef:telegram:group:7, cron:daily.
bool is_local(std::string_view sender, std::string_view key);
// Prefix of keys that are handles chosen by clients (server/crabtalk.cpp).
inline constexpr std::string_view kHandlePrefix = "handle:";
// Prefix of the keys of turns of which nothing is kept.
inline constexpr std::string_view kEphemeralPrefix = "ephemeral:";

bool is_elevated(const session::Row& row);
PermissionMode mode_of(const Agent& agent, bool local, const session::Row& row);

// Something the user allowed for good in a session.
struct Grant {
  std::string tool, rule;
  std::string at;  // ISO 8601
};
std::vector<Grant> grants_of(const session::Row& row);

class Permissions {
 public:
  static constexpr std::size_t kGrantsMax = 200;  // of one session

  Permissions(Executor loop, session::Sessions& sessions, Clock& clock);

  // Fills in the caller's mode and whether it is local.
  void look_up(Caller& caller) const;

  // Returns what the model is told instead of the call's result; nothing: the call may be made.
  Task<std::optional<ToolAnswer>> refusal(const Toolbox& toolbox,
                                          const session::ToolCallBlock& call, const Caller& caller);

  // Takes one grant back; all of a tool when `rule` is empty, all of the session when `tool` is
  // empty. not_found when there is none.
  Task<Status> revoke(session::SessionId id, std::string tool, std::string rule);

 private:
  Task<std::optional<ToolAnswer>> ask(const std::string& tool, const Intent& intent,
                                      const Caller& caller);

  session::Sessions& sessions_;
  Clock& clock_;
  // Questions that wait for an answer: the same is not asked twice at once.
  std::set<std::string> asking_;
  Notify answered_;
};

}  // namespace reef::runtime
