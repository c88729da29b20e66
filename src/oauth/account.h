// Our account with one server: the tokens we present, and how we react when it refuses them. All
// connections to the server share the account, so that a token is renewed once, however many need
// it. Loop thread.
#pragma once

#include "base/task_group.h"
#include "oauth/discovery.h"
#include "oauth/store.h"

namespace reef::oauth {

class Account;

// The state that all accounts share.
struct Shared {
  Shared(Needs given, std::function<void(const Account&)> told)
      : needs(std::move(given)), store(needs), changed(std::move(told)) {}
  Needs needs;
  Store store;
  std::function<void(const Account&)> changed;
};

class Account : public std::enable_shared_from_this<Account> {
 public:
  Account(Shared& shared, std::string server, Settings settings);

  const std::string& server() const { return server_; }
  const Settings& settings() const { return settings_; }
  // Replaces the settings after a secret was changed; the login stays valid.
  void use(Settings settings) { settings_ = std::move(settings); }

  const std::optional<Grant>& grant() const { return grant_; }
  // True when nothing works until somebody logs in.
  bool needs_login() const { return needs_login_; }
  // Removes our secrets from text that others wrote.
  std::string scrub(std::string text) const;

  struct Credentials {
    http::Headers headers;
    std::string token;
  };
  // For a request to this server only; empty for other addresses. Renews a token about to expire
  // first.
  Task<Credentials> credentials(std::string method, std::string url);

  // A 401 or 403 from the server.
  struct Refusal {
    int status = 401;
    http::Headers headers = {};
    std::string token = {};  // the token that was sent
    bool renewed = false;    // obtained after another token was refused
    bool aside = false;      // a minor request, for which nobody should have to log in
  };
  // Returns true when the request should be repeated. Errors: `unauthorized` when somebody has to
  // log in, `denied` when that would not help.
  Task<Result<bool>> refused(Refusal refusal);

  // ---- for logins ----
  Fetcher fetcher() const;
  Shared& shared() const { return shared_; }
  // Uses the server's last challenge; when there was none, asks the server first.
  Task<Result<Discovered>> look_up();
  // The scopes to ask for: those of the settings, else those the server demanded, else those it
  // supports. When a request needs more, the earlier scopes are added.
  std::vector<std::string> scopes_for(const Discovered& discovered) const;
  // Fills in what is known about a grant before it is requested.
  Result<Grant> begin_grant(const Discovered& discovered) const;
  // Gets a grant that needs no user.
  Task<Result<Grant>> obtain();
  Task<Status> adopt(Grant grant);
  struct Farewell {
    bool was_there = false, revoked = false;
  };
  Task<Result<Farewell>> forget();

  // Waits a moment for a renewal under way; returns when nothing runs any more.
  Task<void> stop();

 private:
  enum class Way : std::uint8_t { refresh, obtain };
  Task<Status> renew(Way way);
  static Task<void> renew_now(std::shared_ptr<Account> self, Way way);
  Task<Status> refresh();
  Task<Result<Client>> client_for(const Grant& grant);
  Error want_login(std::string_view why);

  Shared& shared_;
  const std::string server_;
  const std::string identity_;
  Settings settings_;
  std::optional<Grant> grant_;
  bool needs_login_ = false;
  std::optional<Challenge> challenge_;  // the last one
  std::vector<std::string> wanted_;     // of the next login, if the last were not enough
  std::string nonce_;                   // the server's nonce for DPoP proofs
  Moment renew_again_ = {};
  bool renewing_ = false;
  Status renewed_ = Ok{};
  Notify changed_;
  TaskGroup tasks_;
};

}  // namespace reef::oauth
