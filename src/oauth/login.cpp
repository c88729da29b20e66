#include "oauth/login.h"

#include <fmt/format.h>
#include <openssl/crypto.h>

#include "base/log.h"
#include "base/utf8.h"

namespace reef::oauth {
namespace {

constexpr std::chrono::minutes kVisitPatience{10};
constexpr std::size_t kSecretBytes = 32;
constexpr std::size_t kRedirectBytesMax = 16U << 10;
constexpr std::string_view kCallback = "/callback";

bool same(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::uint16_t port_of(const std::string& redirect_uri) {
  const auto address = parse_address(redirect_uri);
  const auto port = address ? std::atoi(address->port.c_str()) : 0;
  return port > 0 && port <= 65535 ? static_cast<std::uint16_t>(port) : std::uint16_t{0};
}

std::string shown(std::string_view text) {
  return utf8::excerpt(utf8::printable(text), 200);
}

}  // namespace

Login::Login(std::shared_ptr<Account> account)
    : account_(std::move(account)),
      id_(random_word(16)),
      state_(random_word(kSecretBytes)),
      verifier_(random_word(kSecretBytes)),
      changed_(account_->shared().needs.loop) {}

Login::~Login() {
  // Nobody came back, perhaps because the server forgot the client. The next login registers
  // another.
  if (registered_before_ && !came_)
    static_cast<void>(account_->shared().store.drop(*registration_));
}

std::string Login::redirect_uri() const {
  return fmt::format("http://127.0.0.1:{}{}", listener_->port(), kCallback);
}

Status Login::listen(std::uint16_t port) {
  const auto on_request = [this](std::string target) -> RedirectListener::Reply {
    if (target.substr(0, target.find('?')) != kCallback) return {404, "There is nothing here."};
    const auto taken = take(target);
    if (!taken) return {400, "This is not the answer to a login that Reef waits for."};
    return {200,
            "Reef has heard of it. You can close this page; how it ended is said where the "
            "login was begun."};
  };
  REEF_TRY(listener_, RedirectListener::open(account_->shared().needs.loop, port, on_request));
  return Ok{};
}

// Chooses, in this order: a client registered by hand, a document of our own, a new registration.
Task<Status> Login::choose_client() {
  const auto& settings = account_->settings();
  const auto& server = discovered_.server;
  auto& store = account_->shared().store;
  const bool by_document = settings.client_id.empty() && !settings.client_metadata_url.empty();
  if (!settings.client_id.empty() || (by_document && server.client_documents)) {
    REEF_CO_CHECK(listen(settings.redirect_port));
    REEF_CO_TRY(client_, co_await configured_client(account_->shared().needs, settings,
                                                    server.auth_methods));
    co_return Ok{};
  }
  if (server.registration_endpoint.empty())
    co_return Error(Errc::unsupported,
                    fmt::format("{} does not register clients by themselves; get a client there "
                                "and put its id into oauth.client_id",
                                shown(server.issuer)));
  const auto now = seconds_now(account_->shared().needs.clock);
  // A registered client has a fixed redirect address, so its port must be free again.
  for (const auto& known : store.registrations(server.issuer)) {
    if (known.expires != 0 && known.expires <= now + 60) continue;
    const auto port = port_of(known.redirect_uri);
    if (settings.redirect_port != 0 && settings.redirect_port != port) continue;
    if (!listen(port)) continue;
    registration_ = known;
    registered_before_ = true;
    client_ = client_of(known);
    co_return Ok{};
  }
  REEF_CO_CHECK(listen(settings.redirect_port));
  auto ask = account_->fetcher();
  // Names the scopes that may be wanted later, too, because servers often hold clients to them.
  REEF_CO_TRY(registration_, co_await register_client(ask, server, redirect_uri(),
                                                      united(scopes_, discovered_.scopes)));
  client_ = client_of(*registration_);
  static_cast<void>(co_await store.put(*registration_));
  co_return Ok{};
}

Task<Result<Login::Visit>> Login::begin() {
  if (is_unattended(account_->settings())) {
    REEF_CO_TRY(grant_, co_await account_->obtain());
    co_return Visit{};
  }
  REEF_CO_TRY(discovered_, co_await account_->look_up());
  const auto& server = discovered_.server;
  if (server.authorization_endpoint.empty())
    co_return Error(Errc::unsupported, shown(server.issuer) + " has no page to log in");
  REEF_CO_CHECK(account_->fetcher().trust().may_ask(server.authorization_endpoint));
  // Without PKCE, anyone who sees the browser's redirect could take over the login.
  if (!contains(server.challenge_methods, "S256"))
    co_return Error(Errc::unsupported,
                    shown(server.issuer) + " does not support PKCE (S256), which is required");
  scopes_ = account_->scopes_for(discovered_);
  // offline_access lets us renew without the user. Requested alone, it would replace the server's
  // default scopes.
  const bool offline = !scopes_.empty() && contains(server.scopes, "offline_access");
  if (offline) scopes_ = united(scopes_, {"offline_access"});
  REEF_CO_CHECK(co_await choose_client());
  Parameters parameters{{"response_type", "code"},
                        {"client_id", client_.id},
                        {"redirect_uri", redirect_uri()},
                        {"state", state_},
                        {"code_challenge", challenge_of(verifier_)},
                        {"code_challenge_method", "S256"},
                        {"resource", discovered_.resource}};
  if (!scopes_.empty()) parameters.emplace_back("scope", joined(scopes_));
  if (offline) parameters.emplace_back("prompt", "consent");
  co_return Visit{with_parameters(server.authorization_endpoint, parameters), redirect_uri()};
}

bool Login::is_renewable(const Grant& grant) const {
  return !grant.refresh_token.empty() || is_unattended(account_->settings());
}

Status Login::take(std::string_view redirect_url) {
  const Error other(Errc::invalid, "this is not the answer to the login that is waited for");
  if (redirect_url.size() > kRedirectBytesMax || !listener_) return other;
  if (came_) return Error(Errc::conflict, "the login has been answered already");
  auto query = redirect_url.substr(std::min(redirect_url.find('?') + 1, redirect_url.size()));
  query = query.substr(0, query.find('#'));
  auto parameters = from_form(query);
  const auto state = find_parameter(parameters, "state");
  if (!state || !same(*state, state_)) return other;
  came_ = std::move(parameters);
  changed_.notify_all();
  return Ok{};
}

Task<Result<Grant>> Login::finish() {
  if (grant_) co_return co_await adopted(*grant_);
  const auto came = [this] { return came_.has_value(); };
  if (!co_await changed_.wait_for(kVisitPatience, came))
    co_return Error(Errc::timeout, "nobody came back from the login");
  const auto& server = discovered_.server;
  // RFC 9207 demands an exact comparison: an answer from another server must not pass for this
  // one's.
  const auto issuer = find_parameter(*came_, "iss");
  if (issuer ? *issuer != server.issuer : server.says_issuer)
    co_return Error(Errc::denied,
                    fmt::format("the answer to the login comes from {}, not from {}",
                                issuer ? shown(*issuer) : "somebody who does not say who it is",
                                shown(server.issuer)));
  if (const auto error = find_parameter(*came_, "error")) {
    auto what = "the login was refused: " + shown(*error);
    if (const auto more = find_parameter(*came_, "error_description"))
      what += " (" + shown(*more) + ")";
    co_return Error(Errc::denied, std::move(what));
  }
  const auto code = find_parameter(*came_, "code");
  if (!code || code->empty()) co_return Error(Errc::invalid, "the answer to the login is empty");
  REEF_CO_TRY(auto grant, account_->begin_grant(discovered_));
  grant.client.issuer = server.issuer;
  grant.client.id = client_.id;
  grant.client.method = client_.method;
  if (registration_) grant.client = *registration_;
  grant.requested = scopes_;
  TokenRequest request;
  request.endpoint = grant.token_endpoint;
  request.issuer = grant.issuer;
  request.client = client_;
  request.dpop_key = grant.dpop_key;
  request.parameters = {{"grant_type", "authorization_code"},
                        {"code", *code},
                        {"redirect_uri", redirect_uri()},
                        {"code_verifier", verifier_},
                        {"resource", grant.resource}};
  auto ask = account_->fetcher();
  auto answer = co_await request_tokens(ask, std::move(request));
  if (!answer) {
    // A client that the server has forgotten must not be used again.
    if (registration_ && answer.error().code == Errc::unauthorized)
      static_cast<void>(co_await account_->shared().store.drop(*registration_));
    co_return std::move(answer).error();
  }
  REEF_CO_CHECK(take_tokens(*answer, account_->shared().needs.clock.now(), grant));
  co_return co_await adopted(std::move(grant));
}

// A grant that could not be stored still works until the daemon stops; the user must be told.
Task<Result<Grant>> Login::adopted(Grant grant) {
  if (auto kept = co_await account_->adopt(grant); !kept)
    co_return std::move(kept).error().with(
        "logged in, but only until the daemon stops: the login could not be kept");
  co_return grant;
}

}  // namespace reef::oauth
