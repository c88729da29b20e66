// Accounts against a server that does what a test tells it, and the file that keeps them.
#include <sys/stat.h>

#include <gtest/gtest.h>

#include "oauth/accounts.h"
#include "store/fs/fs_documents.h"
#include "support/fake_http.h"
#include "support/faulty_files.h"
#include "support/manual_clock.h"
#include "support/run.h"
#include "support/temp_dir.h"

namespace reef::oauth {
namespace {

using namespace std::chrono_literals;
using test::FakeReply;
using test::run;
using test::SeenRequest;
using test::value_of;

class AccountTest : public testing::Test {
 protected:
  AccountTest() {
    server.on_request = [this](const SeenRequest& seen) { return reply(seen); };
  }
  ~AccountTest() override {
    run(io, http.stop());
    run(io, server.stop());
  }

  Needs needs() {
    Needs out{io.get_executor(),
              clock,
              [this]() -> http::Client& { return http; },
              [](std::string words) -> Task<Result<std::string>> { co_return words; },
              files,
              threads,
              &documents};
    return out;
  }

  FakeReply reply(const SeenRequest& seen) {
    const auto path = seen.target.substr(0, seen.target.find('?'));
    asked.push_back(path);
    if (const auto found = replies.find(path); found != replies.end()) return found->second;
    return test::json_reply(404, "{}");
  }
  void says(const std::string& path, const json::object& document, int status = 200) {
    replies[path] = test::json_reply(status, json::write(document));
  }
  void says_everything() {
    const auto here = server.url();
    says("/.well-known/oauth-protected-resource/mcp",
         {{"resource", here + "/mcp"}, {"authorization_servers", json::array{here}}});
    says("/.well-known/oauth-authorization-server",
         {{"issuer", here},
          {"authorization_endpoint", here + "/authorize"},
          {"token_endpoint", here + "/token"},
          {"registration_endpoint", here + "/register"},
          {"code_challenge_methods_supported", json::array{"S256"}}});
    says("/register", {{"client_id", "c"}, {"token_endpoint_auth_method", "none"}}, 201);
    says("/token",
         {{"access_token", "first"}, {"refresh_token", "again"}, {"token_type", "Bearer"}});
  }
  std::string url() { return server.url() + "/mcp"; }

  Grant log_in(Accounts& accounts, const std::shared_ptr<Account>& account) {
    const auto login = accounts.login(account);
    const auto visit = value_of(run(io, login->begin()));
    const auto state =
        *find_parameter(from_form(visit.url.substr(visit.url.find('?') + 1)), "state");
    EXPECT_TRUE(login->take(visit.redirect_uri + "?code=x&state=" + state).ok());
    EXPECT_FALSE(login->take(visit.redirect_uri + "?code=x&state=" + state).ok()) << "once";
    return value_of(run(io, login->finish()));
  }
  Result<bool> refused(Account& account, int status, std::string token,
                       std::string challenge = "Bearer") {
    Account::Refusal refusal;
    refusal.status = status;
    refusal.headers = {{"www-authenticate", std::move(challenge)}};
    refusal.token = std::move(token);
    return run(io, account.refused(std::move(refusal)));
  }

  test::TempDir folder;
  boost::asio::io_context io{1};
  test::ManualClock clock{io};
  test::FaultyFiles files;
  store::FsDocuments documents{files, folder.path()};
  reef::Pool threads{1};
  http::Client http{io.get_executor()};
  test::FakeHttp server{io.get_executor()};
  std::map<std::string, FakeReply> replies;
  std::vector<std::string> asked;
};

TEST_F(AccountTest, PlacesAreAskedInOrderAndOldServersAreGuessed) {
  Accounts accounts(needs());
  const auto account = accounts.account(url(), {});
  EXPECT_EQ(refused(*account, 401, "", "Bearer resource_metadata=\"" + server.url() + "/said\"")
                .error()
                .code,
            Errc::unauthorized);
  const auto found = value_of(run(io, account->look_up()));
  EXPECT_EQ(asked, (std::vector<std::string>{"/said", "/.well-known/oauth-protected-resource/mcp",
                                             "/.well-known/oauth-protected-resource",
                                             "/.well-known/oauth-authorization-server",
                                             "/.well-known/openid-configuration"}));
  EXPECT_TRUE(found.server.guessed);
  EXPECT_EQ(found.server.token_endpoint, server.url() + "/token");
}

TEST_F(AccountTest, OneThatNamesAnAuthorizationServerIsNotGuessed) {
  says("/.well-known/oauth-protected-resource/mcp",
       {{"resource", url()}, {"authorization_servers", json::array{server.url() + "/t"}}});
  Accounts accounts(needs());
  EXPECT_EQ(run(io, accounts.account(url(), {})->look_up()).error().code, Errc::not_found);
  Settings settings;
  settings.issuer = "https://other.example.org";
  EXPECT_EQ(run(io, accounts.account(url(), settings)->look_up()).error().code, Errc::denied)
      << "the client of one issuer is shown to no other";
}

TEST_F(AccountTest, ASecretIsNotShownToAnotherIssuer) {
  says_everything();
  Settings settings;
  settings.client_id = "me";
  settings.client_secret = "hunter2-hunter2";
  Accounts accounts(needs());
  const auto account = accounts.account(url(), settings);
  log_in(accounts, account);
  const auto other = server.url() + "/other";
  says("/.well-known/oauth-protected-resource/mcp",
       {{"resource", url()}, {"authorization_servers", json::array{other}}});
  says("/.well-known/oauth-authorization-server/other",
       {{"issuer", other}, {"token_endpoint", other + "/token"}});
  EXPECT_EQ(run(io, account->look_up()).error().code, Errc::denied);
  settings.issuer = other;
  EXPECT_TRUE(run(io, accounts.account(url(), settings)->look_up()).ok()) << "the user said so";
}

TEST_F(AccountTest, SlowAndHugeAnswersEnd) {
  Accounts accounts(needs());
  const auto account = accounts.account(url(), {});
  FakeReply silent;
  silent.silent = true;
  FakeReply stalled = test::json_reply(200, "{\"resource\":");
  stalled.then = FakeReply::Then::hang;
  FakeReply huge;
  huge.pieces.assign(64, std::string(16U << 10, ' '));
  for (const auto& [bad, code] :
       {std::pair(silent, Errc::timeout), std::pair(stalled, Errc::timeout),
        std::pair(huge, Errc::too_large)}) {
    replies["/.well-known/oauth-protected-resource/mcp"] = bad;
    std::optional<Result<Discovered>> found;
    TaskGroup tasks(io.get_executor(), "test");
    tasks.spawn(test::store_result(account->look_up(), found));
    if (code == Errc::timeout) {
      test::run_until(io, [&] { return clock.until_next() == 20s; });
      clock.advance(19s);
      EXPECT_FALSE(found);
      clock.advance(1s);
    }
    test::run_until(io, [&] { return found.has_value(); });
    ASSERT_TRUE(found && !found->ok());
    EXPECT_EQ(found->error().code, code) << found->error().what;
  }
}

TEST_F(AccountTest, TokensAreShownToTheServerOnly) {
  says_everything();
  Accounts accounts(needs());
  const auto account = accounts.account(url(), {});
  log_in(accounts, account);
  EXPECT_EQ(run(io, account->credentials("POST", url())).headers.at(0).second, "Bearer first");
  EXPECT_TRUE(
      run(io, account->credentials("POST", "https://evil.example.org/mcp")).headers.empty());
  EXPECT_TRUE(run(io, account->credentials("POST", "http://127.0.0.1:1/mcp")).headers.empty());
  EXPECT_EQ(account->scrub("it was first, not again"), "it was first, not again")
      << "words this short are found everywhere";
}

TEST_F(AccountTest, ATokenIsKeptWhenItCannotBeRenewedNow) {
  says_everything();
  Accounts accounts(needs());
  const auto account = accounts.account(url(), {});
  log_in(accounts, account);
  replies["/token"] = test::json_reply(503, "{}");
  const auto down = refused(*account, 401, "first");
  ASSERT_FALSE(down.ok());
  EXPECT_EQ(down.error().code, Errc::unavailable);
  EXPECT_FALSE(account->needs_login());
  says("/token", {{"access_token", "second"}, {"token_type", "Bearer"}});
  EXPECT_TRUE(value_of(refused(*account, 401, "first")));
  EXPECT_EQ(account->grant()->refresh_token, "again");
  const auto requests = asked.size();
  EXPECT_TRUE(value_of(refused(*account, 401, "first"))) << "somebody else has had it renewed";
  EXPECT_EQ(asked.size(), requests);
  says("/token", {{"error", "invalid_grant"}}, 400);
  EXPECT_EQ(refused(*account, 401, "second").error().code, Errc::unauthorized);
  EXPECT_TRUE(account->needs_login());
}

TEST_F(AccountTest, ATokenThatCannotBeRenewedIsNotAskedForWithEveryCall) {
  says_everything();
  says("/token", {{"access_token", "first"},
                  {"refresh_token", "again"},
                  {"token_type", "Bearer"},
                  {"expires_in", 3600}});
  Accounts accounts(needs());
  const auto account = accounts.account(url(), {});
  log_in(accounts, account);
  const auto token = [&] { return run(io, account->credentials("POST", url())).token; };
  const auto before = asked.size();
  EXPECT_EQ(token(), "first");
  EXPECT_EQ(asked.size(), before) << "it is still good";
  clock.advance(1h);
  replies["/token"] = test::json_reply(503, "{}");
  EXPECT_EQ(token(), "first") << "the server will say what it thinks of it";
  EXPECT_EQ(asked.size(), before + 1);
  EXPECT_EQ(token(), "first");
  EXPECT_EQ(asked.size(), before + 1) << "not so soon again";
  says("/token", {{"access_token", "second"}, {"token_type", "Bearer"}});
  clock.advance(1min);
  EXPECT_EQ(token(), "second");
}

TEST_F(AccountTest, ARenewalOutlivesTheCallThatAskedForIt) {
  says_everything();
  Accounts accounts(needs());
  const auto account = accounts.account(url(), {});
  log_in(accounts, account);
  says("/token",
       {{"access_token", "second"}, {"refresh_token", "rotated"}, {"token_type", "Bearer"}});
  const auto before = asked.size();
  TaskGroup callers(io.get_executor(), "callers");
  const auto call = [](std::shared_ptr<Account> of) -> Task<void> {
    co_await yield_to_loop();
    Account::Refusal refusal;
    refusal.token = "first";
    static_cast<void>(co_await of->refused(std::move(refusal)));
  };
  for (int i = 0; i < 5; ++i) callers.spawn(call(account));
  const auto until_asked = [&]() -> Task<void> {
    while (asked.size() == before) co_await server.changed().wait();
    callers.cancel();
    co_await callers.join();
    // The callers are gone, but the renewal still arrives.
    while (account->grant()->access_token != "second") co_await yield_to_loop();
    co_await accounts.stop();
  };
  run(io, until_asked());
  EXPECT_EQ(asked.size(), before + 1) << "one for all";
  Accounts later(needs());
  ASSERT_TRUE(run(io, later.load()).ok());
  EXPECT_EQ(later.account(url(), {})->grant()->refresh_token, "rotated");
}

TEST_F(AccountTest, NobodyHasToLogInForUnimportantRequests) {
  Accounts accounts(needs());
  const auto account = accounts.account(url(), {});
  Account::Refusal refusal;
  refusal.aside = true;
  EXPECT_FALSE(value_of(run(io, account->refused(refusal))));
  EXPECT_FALSE(account->needs_login());
}

TEST_F(AccountTest, MoreRightsAreAskedForOnceOnly) {
  says_everything();
  Accounts accounts(needs());
  const auto account = accounts.account(url(), {});
  static_cast<void>(refused(*account, 401, "", "Bearer scope=\"a\""));
  log_in(accounts, account);
  EXPECT_EQ(account->grant()->requested, (std::vector<std::string>{"a"}));
  const std::string more = "Bearer error=\"insufficient_scope\", scope=\"b\"";
  EXPECT_EQ(refused(*account, 403, "first", more).error().code, Errc::unauthorized);
  EXPECT_FALSE(account->needs_login()) << "what worked works";
  log_in(accounts, account);
  EXPECT_EQ(account->grant()->requested, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(refused(*account, 403, "first", more).error().code, Errc::denied);
  says("/token", {{"error", "invalid_grant"}}, 400);
  EXPECT_EQ(refused(*account, 401, "first", "Bearer scope=\"c\"").error().code, Errc::unauthorized);
  says_everything();
  log_in(accounts, account);
  EXPECT_EQ(account->grant()->requested, (std::vector<std::string>{"c", "a", "b"}));
  EXPECT_FALSE(value_of(refused(*account, 403, "first", "Bearer error=\"other\"")));
}

TEST_F(AccountTest, TokensAreKeptForTheirOwnerOnlyAndReadAgain) {
  says_everything();
  {
    Accounts accounts(needs());
    log_in(accounts, accounts.account(url(), {}));
    run(io, accounts.stop());
  }
  struct stat about = {};
  ASSERT_EQ(::stat((folder / "logins.json").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777U, 0600U);
  Accounts accounts(needs());
  ASSERT_TRUE(run(io, accounts.load()).ok());
  const auto account = accounts.account(url(), {});
  ASSERT_TRUE(account->grant());
  EXPECT_EQ(account->grant()->access_token, "first");
  EXPECT_EQ(account->grant()->client.id, "c");
  Settings other;
  other.client_id = "somebody";
  EXPECT_FALSE(accounts.account(url(), other)->grant()) << "another client is another login";
  EXPECT_FALSE(accounts.account(server.url() + "/other", {})->grant());
  EXPECT_EQ(accounts.account(url(), {}), account) << "one account for all";
}

TEST_F(AccountTest, AFailedCallLeavesTheOldFileOrTheNewOne) {
  const auto with = [this](const std::string& token) {
    Grant grant;
    grant.server = url();
    grant.identity = identity_of({});
    grant.token_endpoint = "https://h/token";
    grant.access_token = token;
    return grant;
  };
  for (int nth = 1;; ++nth) {
    files.heal();
    {
      const auto place = needs();
      Store store(place);
      ASSERT_TRUE(run(io, store.put(with("old"))).ok());
      files.fail_at(nth, EIO);
      const auto put = run(io, store.put(with("new")));
      const bool hit = files.hit();
      files.heal();
      EXPECT_EQ(store.find(url(), identity_of({}))->access_token, "new") << "in memory always";
      Store later(place);
      ASSERT_TRUE(run(io, later.load()).ok()) << nth;
      const auto* kept = later.find(url(), identity_of({}));
      ASSERT_TRUE(kept) << nth;
      EXPECT_TRUE(kept->access_token == "new" || (!put && kept->access_token == "old")) << nth;
      run(io, store.settle());
      if (!hit) break;
    }
  }
}

}  // namespace
}  // namespace reef::oauth
