// All accounts, and the logins under way. Loop thread.
#pragma once

#include <map>

#include "oauth/login.h"

namespace reef::oauth {

class Accounts {
 public:
  // `changed` is called when a login is needed or was done; it must return at once.
  explicit Accounts(Needs needs, std::function<void(const Account&)> changed = {})
      : shared_(std::move(needs), std::move(changed)) {}

  Task<Status> load() { return shared_.store.load(); }

  // Returns the account for this server and these settings; all callers share it.
  std::shared_ptr<Account> account(const std::string& server, const Settings& settings);

  // The login lives as long as somebody holds it.
  std::shared_ptr<Login> login(std::shared_ptr<Account> account);
  // Returns nullptr when the login is over.
  std::shared_ptr<Login> find_login(const std::string& id) const;

  Task<void> stop();

 private:
  Shared shared_;
  std::map<std::string, std::weak_ptr<Account>> accounts_;
  std::map<std::string, std::weak_ptr<Login>> logins_;
};

}  // namespace reef::oauth
