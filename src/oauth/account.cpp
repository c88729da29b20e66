#include "oauth/account.h"

#include <fmt/format.h>

#include "base/log.h"
#include "base/secrets.h"
#include "base/utf8.h"

namespace reef::oauth {
namespace {

// The pause after a renewal that failed although the token may be good.
constexpr std::chrono::milliseconds kRenewAgain{10'000};
constexpr std::chrono::milliseconds kStopPatience{3'000};
constexpr std::string_view kJwtBearer = "urn:ietf:params:oauth:grant-type:jwt-bearer";
constexpr std::string_view kTokenExchange = "urn:ietf:params:oauth:grant-type:token-exchange";
constexpr std::string_view kTokenType = "urn:ietf:params:oauth:token-type:";

// Returns the server's name for the log, without the path and query.
std::string server_name(std::string_view server) {
  const auto address = parse_address(server);
  return address ? origin_of(*address) : std::string("?");
}

bool same_place(std::string_view a, std::string_view b) {
  const auto left = parse_address(a), right = parse_address(b);
  return left && right && origin_of(*left) == origin_of(*right);
}

// Asks the company's identity provider for an assertion about its user ("ID-JAG").
Task<Result<std::string>> exchange_id_token(Fetcher& fetcher, Settings settings,
                                            const Discovered& discovered) {
  const auto& needs = fetcher.needs();
  auto id_token = co_await needs.fetch(settings.id_token);
  if (!id_token) co_return std::move(id_token).error().with("oauth.id_token");
  auto idp = co_await find_server(fetcher, settings.idp_issuer);
  if (!idp) co_return std::move(idp).error().with("oauth.idp_issuer");
  TokenRequest request;
  request.endpoint = idp->token_endpoint;
  request.issuer = idp->issuer;
  request.client.id = settings.idp_client_id;
  if (!settings.idp_client_secret.empty()) {
    auto secret = co_await needs.fetch(settings.idp_client_secret);
    if (!secret) co_return std::move(secret).error().with("oauth.idp_client_secret");
    request.client.secret = *std::move(secret);
    request.client.method = contains(idp->auth_methods, "client_secret_post") &&
                                    !contains(idp->auth_methods, "client_secret_basic")
                                ? "client_secret_post"
                                : "client_secret_basic";
  }
  const std::string type(kTokenType);
  request.parameters = {{"grant_type", std::string(kTokenExchange)},
                        {"requested_token_type", type + "id-jag"},
                        {"audience", discovered.server.issuer},
                        {"resource", discovered.resource},
                        {"subject_token", *id_token},
                        {"subject_token_type", type + "id_token"}};
  auto answer = co_await request_tokens(fetcher, std::move(request));
  if (!answer) co_return std::move(answer).error().with(settings.idp_issuer);
  if (json::find_string(*answer, "issued_token_type") != type + "id-jag")
    co_return Error(Errc::unsupported, "the identity provider gave something else than asked for");
  co_return std::string(json::find_string(*answer, "access_token").value_or(""));
}

}  // namespace

Account::Account(Shared& shared, std::string server, Settings settings)
    : shared_(shared),
      server_(std::move(server)),
      identity_(identity_of(settings)),
      settings_(std::move(settings)),
      changed_(shared.needs.loop),
      tasks_(shared.needs.loop, "oauth") {
  if (const auto* kept = shared_.store.find(server_, identity_)) grant_ = *kept;
}

std::string Account::scrub(std::string text) const {
  if (!grant_) return text;
  Secrets secrets;
  secrets.add(grant_->access_token);
  secrets.add(grant_->refresh_token);
  secrets.add(grant_->client.secret);
  return secrets.scrub(std::move(text));
}

Fetcher Account::fetcher() const {
  return {shared_.needs, Trust(server_, {settings_.issuer, settings_.idp_issuer})};
}

Task<Account::Credentials> Account::credentials(std::string method, std::string url) {
  Credentials out;
  if (!same_place(server_, url)) co_return out;
  const auto now = shared_.needs.clock.now();
  const bool due = grant_ && grant_->renew_at != TimePoint() && now >= grant_->renew_at;
  const bool can = grant_ && (!grant_->refresh_token.empty() || is_unattended(settings_));
  // If this fails now, the server tells us whether the old token is still good.
  if (due && can && steady_now(shared_.needs.loop) >= renew_again_)
    static_cast<void>(co_await renew(grant_->refresh_token.empty() ? Way::obtain : Way::refresh));
  if (!grant_) co_return out;
  out.token = grant_->access_token;
  if (grant_->dpop_key.empty()) {
    out.headers.emplace_back("Authorization", "Bearer " + out.token);
    co_return out;
  }
  const auto key = SigningKey::from_pem(grant_->dpop_key);
  if (!key) co_return Credentials{};
  out.headers.emplace_back("Authorization", "DPoP " + out.token);
  out.headers.emplace_back(
      "DPoP", dpop_proof(*key, method, url, out.token, nonce_, seconds_now(shared_.needs.clock)));
  co_return out;
}

Error Account::want_login(std::string_view why) {
  needs_login_ = true;
  if (shared_.changed) shared_.changed(*this);
  return Error(Errc::unauthorized, std::string(why));
}

Task<Result<bool>> Account::refused(Refusal refusal) {
  const auto challenge = challenge_from(refusal.headers);
  const auto& token = refusal.token;
  const bool again = refusal.renewed;
  if (const auto* nonce = http::find_header(refusal.headers, "dpop-nonce")) {
    const bool wanted = challenge.error == "use_dpop_nonce" && nonce_ != *nonce;
    nonce_ = *nonce;
    if (wanted) co_return true;
  }
  // Another request has had the token renewed meanwhile.
  if (!again && grant_ && grant_->access_token != token) co_return true;
  const bool unattended = is_unattended(settings_);
  if (refusal.status == 403) {
    if (challenge.error != "insufficient_scope" || refusal.aside) co_return false;
    const auto had = grant_ ? united(grant_->requested, grant_->granted) : wanted_;
    // Asking again for scopes that were requested and not granted leads nowhere.
    if (again || challenge.scopes.empty() || contains_all(had, challenge.scopes))
      co_return Error(Errc::denied, fmt::format("the server refuses it for lack of rights ({}), "
                                                "although they were asked for",
                                                utf8::excerpt(joined(challenge.scopes), 200)));
    challenge_ = challenge;
    wanted_ = united(had, challenge.scopes);
    if (!unattended)
      co_return Error(Errc::unauthorized,
                      fmt::format("the server wants more rights for this ({})",
                                  utf8::excerpt(joined(challenge.scopes), 200)));
    REEF_CO_CHECK(co_await renew(Way::obtain));
    co_return true;
  }
  if (refusal.aside && (again || token.empty())) co_return false;
  challenge_ = challenge;
  constexpr std::string_view kRefused = "the server refuses the token that was got just now";
  if (again && unattended) co_return Error(Errc::denied, std::string(kRefused));
  if (again) co_return want_login(kRefused);
  const bool refreshable = grant_ && !token.empty() && !grant_->refresh_token.empty();
  if (refreshable || unattended) {
    auto renewed = co_await renew(refreshable ? Way::refresh : Way::obtain);
    if (renewed) co_return true;
    if (unattended || renewed.error().code != Errc::unauthorized)
      co_return std::move(renewed).error();
    if (refusal.aside) co_return false;
    co_return want_login("the login is not good any more");
  }
  if (refusal.aside) co_return false;
  co_return want_login(token.empty() ? "the server wants a login"
                                     : "the login is not good any more");
}

// ---- renewing ----

Task<Status> Account::renew(Way way) {
  // Runs in a task of its own, because a token could be lost for good if we stopped halfway.
  if (!std::exchange(renewing_, true)) tasks_.spawn(renew_now(shared_from_this(), way));
  while (renewing_) co_await changed_.wait();
  co_return renewed_;
}

Task<void> Account::renew_now(std::shared_ptr<Account> self, Way way) {
  co_await yield_to_loop();
  struct Done {
    Account& account;
    ~Done() {
      account.renewing_ = false;
      account.changed_.notify_all();
    }
  } const done{*self};
  self->renewed_ = Error(Errc::cancelled, "the login was not renewed");
  if (way == Way::refresh) {
    self->renewed_ = co_await self->refresh();
    // An account that needs no user gets another grant.
    if (!self->renewed_ && is_unattended(self->settings_)) way = Way::obtain;
  }
  if (way == Way::obtain) {
    auto grant = co_await self->obtain();
    if (grant) {
      self->renewed_ = co_await self->adopt(*std::move(grant));
    } else {
      self->renewed_ = std::move(grant).error();
    }
  }
  if (self->renewed_) co_return;
  self->renew_again_ = steady_now(self->shared_.needs.loop) + kRenewAgain;
  log::warn("oauth {}: {}", server_name(self->server_), self->renewed_.error().what);
}

Task<Result<Client>> Account::client_for(const Grant& grant) {
  if (is_registered(grant.client)) co_return client_of(grant.client);
  // The method that worked the last time.
  co_return co_await configured_client(shared_.needs, settings_, {grant.client.method});
}

Task<Status> Account::refresh() {
  if (!grant_ || grant_->refresh_token.empty())
    co_return Error(Errc::unauthorized, "there is nothing to renew the login with");
  auto grant = *grant_;
  auto ask = fetcher();
  TokenRequest request;
  request.endpoint = grant.token_endpoint;
  request.issuer = grant.issuer;
  REEF_CO_TRY(request.client, co_await client_for(grant));
  request.dpop_key = grant.dpop_key;
  request.parameters = {{"grant_type", "refresh_token"},
                        {"refresh_token", grant.refresh_token},
                        {"resource", grant.resource}};
  auto answer = co_await request_tokens(ask, std::move(request));
  // Somebody logged in again or out while this grant was renewed.
  if (!grant_ || grant_->refresh_token != grant.refresh_token) co_return Ok{};
  if (!answer) {
    if (answer.error().code == Errc::unauthorized) {
      // This refresh token will never work again.
      grant_->refresh_token.clear();
      static_cast<void>(co_await shared_.store.put(*grant_));
    }
    co_return std::move(answer).error();
  }
  REEF_CO_CHECK(take_tokens(*answer, shared_.needs.clock.now(), grant));
  grant_ = grant;
  static_cast<void>(co_await shared_.store.put(std::move(grant)));
  log::info("oauth {}: the login was renewed", server_name(server_));
  co_return Ok{};
}

// ---- logins ----

Task<Result<Discovered>> Account::look_up() {
  if (!challenge_) {
    // A server states its demands when it gets a request without credentials.
    http::Request request;
    request.url = server_;
    request.headers = {{"Content-Type", "application/json"},
                       {"Accept", "application/json, text/event-stream"}};
    request.body = R"({"jsonrpc":"2.0","id":1,"method":"ping"})";
    http::Timeouts timeouts;
    timeouts.connect = timeouts.first_byte = timeouts.idle = shared_.needs.patience;
    REEF_CO_TRY(auto answer, co_await shared_.needs.http().send(std::move(request), timeouts));
    challenge_ = answer.status() == 401 ? challenge_from(answer.headers()) : Challenge();
    shared_.needs.http().drain(std::move(answer));
  }
  auto ask = fetcher();
  auto found = co_await discover(ask, server_, *challenge_, settings_);
  // A secret belongs to the issuer it was first used with; no server may have it sent to another.
  const bool has_secret = !settings_.client_secret.empty() || is_unattended(settings_);
  if (found && has_secret && grant_ && settings_.issuer.empty() &&
      grant_->issuer != found->server.issuer)
    found = Error(Errc::denied,
                  fmt::format("the server wants logins of {} now, not of {}; set oauth.issuer if "
                              "that is right",
                              utf8::excerpt(utf8::printable(found->server.issuer)),
                              utf8::excerpt(utf8::printable(grant_->issuer))));
  if (found) co_return found;
  // The server's challenge may get corrected, so it is asked again the next time.
  challenge_.reset();
  co_return std::move(found).error();
}

std::vector<std::string> Account::scopes_for(const Discovered& discovered) const {
  if (!wanted_.empty()) return united(wanted_, settings_.scopes);
  if (!settings_.scopes.empty()) return settings_.scopes;
  auto out = challenge_ && !challenge_->scopes.empty() ? challenge_->scopes : discovered.scopes;
  // Keeps the scopes that were needed before, so that they are not asked for step by step again.
  if (grant_ && grant_->issuer == discovered.server.issuer) out = united(out, grant_->requested);
  return out;
}

Result<Grant> Account::begin_grant(const Discovered& discovered) const {
  Grant grant;
  grant.server = server_;
  grant.identity = identity_;
  grant.issuer = discovered.server.issuer;
  grant.resource = discovered.resource;
  grant.token_endpoint = discovered.server.token_endpoint;
  grant.revocation_endpoint = discovered.server.revocation_endpoint;
  if (discovered.dpop) {
    REEF_TRY(const auto key, SigningKey::make());
    grant.dpop_key = key.pem();
  }
  return grant;
}

Task<Result<Grant>> Account::obtain() {
  REEF_CO_TRY(const auto discovered, co_await look_up());
  auto ask = fetcher();
  const auto& needs = shared_.needs;
  REEF_CO_TRY(auto grant, begin_grant(discovered));
  grant.requested = scopes_for(discovered);
  TokenRequest request;
  request.endpoint = grant.token_endpoint;
  request.issuer = grant.issuer;
  request.dpop_key = grant.dpop_key;
  REEF_CO_TRY(request.client,
              co_await configured_client(needs, settings_, discovered.server.auth_methods));
  grant.client.issuer = grant.issuer;
  grant.client.id = request.client.id;
  grant.client.method = request.client.method;
  auto& parameters = request.parameters;
  if (settings_.grant == GrantKind::client_credentials) {
    parameters.emplace_back("grant_type", "client_credentials");
  } else {
    parameters.emplace_back("grant_type", std::string(kJwtBearer));
    auto assertion = settings_.grant == GrantKind::enterprise
                         ? co_await exchange_id_token(ask, settings_, discovered)
                         : co_await needs.fetch(settings_.assertion);
    if (!assertion) co_return std::move(assertion).error();
    parameters.emplace_back("assertion", *std::move(assertion));
  }
  parameters.emplace_back("resource", grant.resource);
  if (!grant.requested.empty()) parameters.emplace_back("scope", joined(grant.requested));
  REEF_CO_TRY(const auto answer, co_await request_tokens(ask, std::move(request)));
  REEF_CO_CHECK(take_tokens(answer, needs.clock.now(), grant));
  co_return grant;
}

Task<Status> Account::adopt(Grant grant) {
  grant_ = grant;
  needs_login_ = false;
  wanted_.clear();
  renew_again_ = {};
  log::info("oauth {}: logged in with {}", server_name(server_),
            utf8::excerpt(utf8::printable(grant.issuer)));
  auto kept = co_await shared_.store.put(std::move(grant));
  if (shared_.changed) shared_.changed(*this);
  co_return kept;
}

Task<Result<Account::Farewell>> Account::forget() {
  Farewell out;
  auto grant = std::exchange(grant_, std::nullopt);
  wanted_.clear();
  challenge_.reset();
  nonce_.clear();
  out.was_there = grant.has_value();
  auto dropped = co_await shared_.store.drop(server_, identity_);
  if (grant) {
    // Drops the client too, because a user who has trouble with one should get another.
    if (is_registered(grant->client)) static_cast<void>(co_await shared_.store.drop(grant->client));
    needs_login_ = !is_unattended(settings_);
    if (shared_.changed) shared_.changed(*this);
    log::info("oauth {}: logged out", server_name(server_));
    auto ask = fetcher();
    if (auto client = co_await client_for(*grant))
      out.revoked = co_await revoke(ask, *std::move(grant), *std::move(client));
  }
  REEF_CO_CHECK(std::move(dropped));
  co_return out;
}

Task<void> Account::stop() {
  // A new token should still arrive, but the stop must not wait long for it.
  static_cast<void>(co_await changed_.wait_for(kStopPatience, [this] { return !renewing_; }));
  tasks_.cancel();
  co_await tasks_.join();
}

}  // namespace reef::oauth
