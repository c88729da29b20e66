// Our standing with one server: the tokens we show it, and what is done when it refuses them. All
// connections to the server share it, so that a token is renewed once, however many need it. Loop
// thread.
#pragma once

#include "base/task_group.h"
#include "oauth/discovery.h"
#include "oauth/store.h"

namespace reef::oauth {

class Account;

// What all accounts share.
struct Office {
  explicit Office(House house) : house(std::move(house)), store(this->house) {}
  House house;
  Store store;
  // Told when a login is needed or has been done; must return at once.
  std::function<void(const Account&)> changed = {};
};

class Account : public std::enable_shared_from_this<Account> {
 public:
  Account(Office& office, std::string server, Settings settings);

  const std::string& server() const { return server_; }
  const Settings& settings() const { return settings_; }
  // A secret was changed; the login stays what it is.
  void use(Settings settings) { settings_ = std::move(settings); }

  const std::optional<Grant>& grant() const { return grant_; }
  // Nothing works before somebody logs in.
  bool needs_login() const { return needs_login_; }
  // Takes our secrets out of the words of others.
  std::string scrub(std::string text) const;

  struct Credentials {
    http::Headers headers;
    std::string token;
  };
  // For a request to the server, and to nobody else. What is about to expire is renewed before.
  Task<Credentials> credentials(std::string method, std::string url);

  // The server answered 401 or 403.
  struct Refusal {
    int status = 401;
    http::Headers headers = {};
    std::string token = {};  // that was shown
    bool renewed = false;    // it was got because another one was refused
    bool aside = false;      // the request was of no importance: nobody is to log in for it
  };
  // True: it should be tried again. Errors: `unauthorized` when somebody has to log in, `denied`
  // when that would not help.
  Task<Result<bool>> refused(Refusal refusal);

  // ---- for logins ----
  Fetcher fetcher() const;
  Office& office() const { return office_; }
  // From what the server last said; it is asked when it has said nothing yet.
  Task<Result<Discovered>> look_up();
  // What is asked for: what the settings say, the server wants, or it knows, in this order; and
  // what was had before where more is wanted.
  std::vector<std::string> scopes_for(const Discovered& discovered) const;
  // What is known of a grant before it is asked for.
  Result<Grant> begin_grant(const Discovered& discovered) const;
  // Where nobody has to be asked.
  Task<Result<Grant>> obtain();
  Task<Status> adopt(Grant grant);
  struct Farewell {
    bool was_there = false, revoked = false;
  };
  Task<Result<Farewell>> forget();

  // Waits a moment for what is being renewed, and returns when nothing runs.
  Task<void> stop();

 private:
  enum class Way : std::uint8_t { refresh, obtain };
  Task<Status> renew(Way way);
  static Task<void> renew_now(std::shared_ptr<Account> self, Way way);
  Task<Status> refresh();
  Task<Result<Client>> client_for(const Grant& grant);
  Error want_login(std::string_view why);

  Office& office_;
  const std::string server_;
  const std::string identity_;
  Settings settings_;
  std::optional<Grant> grant_;
  bool needs_login_ = false;
  std::optional<Challenge> challenge_;  // the last one
  std::vector<std::string> wanted_;     // in the next login, when the last was not enough
  std::string nonce_;                   // the server's, for proofs
  std::chrono::steady_clock::time_point renew_again_ = {};
  bool renewing_ = false;
  Status renewed_ = Ok{};
  Notify changed_;
  TaskGroup tasks_;
};

}  // namespace reef::oauth
