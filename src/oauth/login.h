// One attempt to log in: the page that the user has to visit, and the result. Loop thread.
#pragma once

#include "oauth/account.h"
#include "oauth/redirect.h"

namespace reef::oauth {

class Login {
 public:
  struct Visit {
    std::string url;  // empty when no user is needed
    std::string redirect_uri;
  };

  explicit Login(std::shared_ptr<Account> account);
  ~Login();
  Login(const Login&) = delete;
  Login& operator=(const Login&) = delete;

  // For clients that did not start the login; nobody can guess it.
  const std::string& id() const { return id_; }
  // Finds the authorization server, registers with it if needed, and begins to listen.
  Task<Result<Visit>> begin();
  // Takes the address that the browser was sent back to, whoever delivers it. An error means that
  // it does not answer this login, which goes on.
  Status take(std::string_view redirect_url);
  // Waits for that address and gets the tokens. Afterwards the account has them.
  Task<Result<Grant>> finish();
  // True when the grant can be renewed without a user.
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
  std::optional<Grant> grant_;  // set when no visit was needed
  std::optional<Parameters> came_;
  Notify changed_;
};

}  // namespace reef::oauth
