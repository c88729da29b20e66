// One attempt to log in: the page the user has to visit, and what comes back from it. Loop thread.
#pragma once

#include "oauth/account.h"
#include "oauth/redirect.h"

namespace reef::oauth {

class Login {
 public:
  struct Visit {
    std::string url;  // empty: nobody has to be asked
    std::string redirect_uri;
  };

  explicit Login(std::shared_ptr<Account> account);
  ~Login();
  Login(const Login&) = delete;
  Login& operator=(const Login&) = delete;

  // For those who were not started by it; nobody guesses it.
  const std::string& id() const { return id_; }
  // Finds out where, registers where that is needed, and begins to listen.
  Task<Result<Visit>> begin();
  // The address the browser was sent back to, from wherever. An error when it is not an answer to
  // this login; it goes on then.
  Status take(std::string_view redirect_url);
  // Waits for that, and gets the tokens for it. The account has them then.
  Task<Result<Grant>> finish();
  // Without anybody who logs in again.
  bool is_renewable(const Grant& grant) const;

 private:
  Task<Result<Grant>> adopted(Grant grant);
  Task<Status> choose_client();
  Status listen(std::uint16_t port);
  std::string redirect_uri() const;

  std::shared_ptr<Account> account_;
  const std::string id_, state_, verifier_;
  Discovered discovered_;
  std::vector<std::string> scopes_;
  Client client_;
  std::optional<Registration> registration_;
  bool registered_before_ = false;
  std::unique_ptr<RedirectListener> listener_;
  std::optional<Grant> grant_;  // got without a visit
  std::optional<Parameters> came_;
  Notify changed_;
};

}  // namespace reef::oauth
