#include "oauth/accounts.h"

namespace reef::oauth {

std::shared_ptr<Account> Accounts::account(const std::string& server, const Settings& settings) {
  std::erase_if(accounts_, [](const auto& one) { return one.second.expired(); });
  auto& known = accounts_[server + "\n" + identity_of(settings)];
  auto out = known.lock();
  if (!out) known = out = std::make_shared<Account>(shared_, server, settings);
  out->use(settings);
  return out;
}

std::shared_ptr<Login> Accounts::login(std::shared_ptr<Account> account) {
  std::erase_if(logins_, [](const auto& one) { return one.second.expired(); });
  auto out = std::make_shared<Login>(std::move(account));
  logins_[out->id()] = out;
  return out;
}

std::shared_ptr<Login> Accounts::find_login(const std::string& id) const {
  const auto found = logins_.find(id);
  return found == logins_.end() ? nullptr : found->second.lock();
}

Task<void> Accounts::stop() {
  for (const auto& [key, weak] : accounts_)
    if (const auto account = weak.lock()) co_await account->stop();
  co_await shared_.store.settle();
}

}  // namespace reef::oauth
