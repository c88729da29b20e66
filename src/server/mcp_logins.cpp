// Logging in to MCP servers and out of them (OAuth). Secrets stay in oauth/.
#include <fmt/format.h>

#include "base/shield.h"
#include "base/utf8.h"
#include "mcp/connections.h"
#include "oauth/accounts.h"
#include "runtime/runtime.h"
#include "server/mcps.h"
#include "server/operations.h"
#include "server/server.h"

namespace reef::server {
namespace {

using protocol::ServerMessage;

Result<std::shared_ptr<oauth::Account>> find_account(McpsNeeds needs, const std::string& agent,
                                                     const std::string& name) {
  if (!needs.mcps.connections || !needs.mcps.accounts)
    return Error(Errc::unavailable, "nobody can log in to MCP servers in this daemon");
  REEF_TRY(const auto spec, find_mcp(needs.runtime.setup(), agent, name));
  if (spec.url.empty())
    return Error(Errc::invalid, fmt::format("server '{}' is a program of this machine or a "
                                            "component: there is no login",
                                            spec.name));
  auto account = needs.mcps.connections->account_of(spec);
  if (!account)
    return Error(
        Errc::invalid,
        fmt::format("server '{}' has its credential from the configuration (auth)", spec.name));
  return account;
}

// Answers with the page to visit, then with the outcome.
class LoginStream final : public protocol::MessageStream {
 public:
  explicit LoginStream(std::shared_ptr<oauth::Login> login) : login_(std::move(login)) {}

  Task<std::optional<ServerMessage>> next() override {
    switch (std::exchange(step_, step_ == Step::begin ? Step::finish : Step::over)) {
      case Step::begin:
        co_return co_await begin();
      case Step::finish:
        co_return co_await finish();
      case Step::over:
        break;
    }
    co_return std::nullopt;
  }

 private:
  enum class Step : std::uint8_t { begin, finish, over };

  Task<ServerMessage> begin() {
    const auto visit = co_await login_->begin();
    if (!visit) {
      step_ = Step::over;
      co_return protocol::make_error(visit.error());
    }
    ServerMessage message;
    auto& out = *message.mutable_mcp_login();
    out.set_id(login_->id());
    out.set_url(utf8::sanitize(visit->url));
    out.set_redirect_uri(visit->redirect_uri);
    co_return message;
  }

  Task<ServerMessage> finish() {
    const auto grant = co_await login_->finish();
    if (!grant) co_return protocol::make_error(grant.error());
    ServerMessage message;
    auto& out = *message.mutable_mcp_login();
    out.set_id(login_->id());
    out.set_done(true);
    out.set_issuer(utf8::sanitize(grant->issuer));
    for (const auto& scope : grant->granted) out.add_scopes(utf8::sanitize(scope));
    if (grant->expires != TimePoint()) out.set_expires(format_iso(grant->expires));
    out.set_renewable(login_->is_renewable(*grant));
    co_return message;
  }

  std::shared_ptr<oauth::Login> login_;
  Step step_ = Step::begin;
};

Task<ServerMessage> log_out(std::shared_ptr<oauth::Account> account) {
  const auto left = co_await shielded(account->forget());
  if (!left) co_return protocol::make_error(left.error());
  ServerMessage message;
  message.mutable_mcp_logout()->set_was_logged_in(left->was_there);
  message.mutable_mcp_logout()->set_revoked(left->revoked);
  co_return message;
}

protocol::Answer answer_login_mcp(McpsNeeds needs, const protocol::LoginMcp& request) {
  auto account = find_account(needs, request.agent(), request.name());
  if (!account) return protocol::answer_with(account.error());
  return std::make_unique<LoginStream>(needs.mcps.accounts->login(*std::move(account)));
}

protocol::Answer answer_finish_mcp_login(McpsNeeds needs, const protocol::FinishMcpLogin& request) {
  const auto login = needs.mcps.accounts ? needs.mcps.accounts->find_login(request.id()) : nullptr;
  if (!login)
    return protocol::answer_with(Error(Errc::not_found, "there is no such login under way"));
  const auto taken = login->take(request.redirect_url());
  if (!taken) return protocol::answer_with(taken.error());
  return protocol::answer_with(protocol::make_pong());
}

protocol::Answer answer_logout_mcp(McpsNeeds needs, const protocol::LogoutMcp& request) {
  auto account = find_account(needs, request.agent(), request.name());
  if (!account) return protocol::answer_with(account.error());
  return protocol::answer_with(log_out(*std::move(account)));
}

}  // namespace

Operations mcp_logins_operations() {
  using M = protocol::ClientMessage;
  using protocol::Right;
  static constexpr Operation kRows[] = {
      {M::kLoginMcp, Right::admin, Messages::many, Naming::ledger,
       answered<&M::login_mcp, answer_login_mcp>},
      {M::kFinishMcpLogin, Right::admin, Messages::one, Naming::ledger,
       answered<&M::finish_mcp_login, answer_finish_mcp_login>},
      {M::kLogoutMcp, Right::admin, Messages::one, Naming::ledger,
       answered<&M::logout_mcp, answer_logout_mcp>},
  };
  return kRows;
}

}  // namespace reef::server
