// The parts of OAuth that need no network: challenges, addresses, documents, settings.
#include <gtest/gtest.h>

#include "oauth/address.h"
#include "oauth/challenge.h"
#include "oauth/metadata.h"
#include "oauth/settings.h"
#include "oauth/tokens.h"
#include "support/run.h"

namespace reef::oauth {
namespace {

using Words = std::vector<std::string>;

TEST(OauthChallenge, IsReadHoweverItIsWritten) {
  const auto all = schemes_from(
      R"(Basic realm="a \"b\", c", Bearer error=invalid_token ,scope = "x y",, resource_metadata="https://h/m")");
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].name, "basic");
  EXPECT_EQ(all[0].parameters.at(0).second, R"(a "b", c)");
  EXPECT_EQ(all[1].parameters.size(), 3U);
  const auto one =
      challenge_from({{"www-authenticate", "Basic realm=x"},
                      {"www-authenticate", R"(bearer Scope="x y x", ERROR="insufficient_scope")"},
                      {"other", "Bearer error=no"}});
  EXPECT_EQ(one.error, "insufficient_scope");
  EXPECT_EQ(one.scopes, (Words{"x", "y"}));
  EXPECT_FALSE(one.dpop);
  const auto dpop = challenge_from(
      {{"www-authenticate", R"(DPoP algs="ES256", error="use_dpop_nonce", Bearer scope="a")"}});
  EXPECT_TRUE(dpop.dpop);
  EXPECT_EQ(dpop.error, "use_dpop_nonce");
  EXPECT_EQ(dpop.scopes, Words{"a"});
}

TEST(OauthChallenge, AnythingElseIsNothing) {
  for (const auto* text : {"", "Bearer", "\"", "Bearer error=\"", "===", ",,, ,", "Bearer =x",
                           "Negotiate dGVzdA==", "Bearer scope=\"\x01\x02 \x7f\""}) {
    const auto said = challenge_from({{"www-authenticate", text}});
    EXPECT_TRUE(said.scopes.empty()) << text;
    EXPECT_TRUE(said.resource_metadata.empty()) << text;
  }
}

TEST(OauthChallenge, ScopesAreUnitedAndCompared) {
  EXPECT_EQ(united({"a", "b"}, {"b", "c"}), (Words{"a", "b", "c"}));
  EXPECT_TRUE(contains_all({"a", "b"}, {"b"}));
  EXPECT_FALSE(contains_all({"a"}, {"a", "c"}));
  EXPECT_EQ(joined({"a", "b"}), "a b");
}

TEST(OauthAddress, TellsPlacesApart) {
  const auto origin = [](std::string_view text) {
    const auto address = parse_address(text);
    return address ? origin_of(*address) : std::string("none");
  };
  EXPECT_EQ(origin("HTTPS://Example.ORG:443/a?b#c"), "https://example.org");
  EXPECT_EQ(origin("http://h:8080"), "http://h:8080");
  EXPECT_EQ(origin("http://[::1]:80/x"), "http://[::1]");
  for (const auto* text :
       {"", "ftp://h/", "https://", "https:///x", "https://u:p@h/", "https://h:x/", "https://h h/",
        "https://h\\@evil/", "javascript:alert(1)", "https://h\n/", "//h/x", "http://[zz]/"})
    EXPECT_EQ(origin(text), "none") << text;
}

TEST(OauthAddress, ServersOutsideDoNotSendUsInside) {
  const Trust outside("https://mcp.example.org/mcp", {});
  for (const auto* url : {"https://login.example.com/x", "https://mcp.example.org/y"})
    EXPECT_TRUE(outside.may_ask(url).ok()) << url;
  for (const auto* url :
       {"http://login.example.com/x", "http://mcp.example.org/", "http://127.0.0.1:9/",
        "https://127.0.0.1/", "https://localhost/", "https://a.localhost/", "https://10.1.2.3/",
        "https://172.16.0.1/", "https://192.168.1.1/", "http://169.254.169.254/latest",
        "https://[::1]/", "https://[fd00::1]/", "https://[::ffff:10.0.0.1]/", "https://2130706433/",
        "https://0x7f.1/", "https://127.1/", "https://100.64.0.1/", "file:///etc/passwd",
        "https://u@login.example.com/"})
    EXPECT_FALSE(outside.may_ask(url).ok()) << url;
  const Trust here("http://127.0.0.1:8000/mcp", {});
  EXPECT_TRUE(here.may_ask("http://localhost:9000/").ok());
  EXPECT_TRUE(here.may_ask("https://login.example.com/").ok());
  EXPECT_FALSE(here.may_ask("http://login.example.com/").ok());
  EXPECT_FALSE(here.may_ask("http://10.0.0.1/").ok());
  const Trust named("https://mcp.example.org/", {"http://10.0.0.5:8080/realm"});
  EXPECT_TRUE(named.may_ask("http://10.0.0.5:8080/token").ok()) << "the user said so";
  EXPECT_FALSE(named.may_ask("http://10.0.0.5/token").ok());
}

TEST(OauthAddress, FormsComeBackAsTheyWent) {
  const Parameters given{{"a", "1 2+3"}, {"b&=", "\xc3\xa4%"}, {"c", ""}};
  EXPECT_EQ(from_form(to_form(given)), given);
  EXPECT_EQ(from_form("a=%zz&&b&c=%4").size(), 3U);
  EXPECT_EQ(with_parameters("https://h/x?y=1#z", {{"a", "b c"}}), "https://h/x?y=1&a=b%20c");
  EXPECT_EQ(with_parameters("https://h/x", {{"a", "b"}}), "https://h/x?a=b");
}

TEST(OauthMetadata, IsLookedForInTheOrderOfTheStandards) {
  EXPECT_EQ(resource_metadata_places("https://h/mcp/x?y"),
            (Words{"https://h/.well-known/oauth-protected-resource/mcp/x",
                   "https://h/.well-known/oauth-protected-resource"}));
  EXPECT_EQ(resource_metadata_places("https://h/").size(), 1U);
  EXPECT_EQ(server_metadata_places("https://h"),
            (Words{"https://h/.well-known/oauth-authorization-server",
                   "https://h/.well-known/openid-configuration"}));
  EXPECT_EQ(server_metadata_places("https://h/t/1"),
            (Words{"https://h/.well-known/oauth-authorization-server/t/1",
                   "https://h/.well-known/openid-configuration/t/1",
                   "https://h/t/1/.well-known/openid-configuration"}));
}

TEST(OauthMetadata, AResourcesDocumentHoldsForPathsBelowIt) {
  EXPECT_TRUE(covers("https://h/mcp", "https://h/mcp"));
  EXPECT_TRUE(covers("https://h", "https://h/mcp"));
  EXPECT_TRUE(covers("https://h/", "https://h/mcp"));
  EXPECT_TRUE(covers("https://H:443/a/", "https://h/a/b"));
  EXPECT_FALSE(covers("https://h/mcp", "https://h/mcp2"));
  EXPECT_FALSE(covers("https://h/mcp/x", "https://h/mcp"));
  EXPECT_FALSE(covers("https://evil/mcp", "https://h/mcp"));
  EXPECT_FALSE(covers("http://h/mcp", "https://h/mcp"));
}

TEST(OauthMetadata, ADocumentOfAnotherIssuerIsRefused) {
  const json::object document{{"issuer", "https://h/t"}, {"token_endpoint", "https://h/token"}};
  EXPECT_TRUE(server_metadata_from(document, "https://h/t").ok());
  EXPECT_TRUE(server_metadata_from(document, "https://h/t/").ok()) << "a slash leads nowhere else";
  for (const auto* other : {"https://h", "https://h/T", "https://h/t/2", "http://h/t"})
    EXPECT_FALSE(server_metadata_from(document, other).ok()) << other;
  EXPECT_FALSE(server_metadata_from({{"issuer", "https://h/t"}}, "https://h/t").ok());
}

TEST(OauthSettings, AreCheckedAndMasked) {
  const auto read = [](std::string_view text) {
    return settings_from(json::parse(text)->get_object());
  };
  auto good = test::value_of(read(
      R"({"client_id":"a","client_secret":"hunter2-hunter2","scopes":["x","y"],"redirect_port":8123})"));
  EXPECT_TRUE(check(good).ok());
  EXPECT_EQ(masked(good).client_secret, "***");
  EXPECT_EQ(words_of(good).at("scopes"), "x y");
  auto other = good;
  other.client_secret = "other";
  EXPECT_EQ(identity_of(good), identity_of(other));
  EXPECT_NE(words_of(good), words_of(other));
  other.client_id = "b";
  EXPECT_NE(identity_of(good), identity_of(other));
  good.client_secret = "env:NAME";
  EXPECT_EQ(masked(good).client_secret, "env:NAME");
  for (const auto* bad : {R"({"nonsense":1})", R"({"grant":"password"})", R"({"scopes":"x"})",
                          R"({"redirect_port":70000})", R"({"client_id":7})"})
    EXPECT_FALSE(read(bad).ok()) << bad;
  for (const auto* bad :
       {R"({"client_secret":"x"})", R"({"scopes":["a b"]})", R"({"grant":"client_credentials"})",
        R"({"grant":"jwt_bearer"})", R"({"grant":"enterprise","client_id":"x"})",
        R"({"client_metadata_url":"https://h"})", R"({"client_id":"a\nb"})",
        R"({"client_id":"a","client_secret":"b","private_key_file":"c"})", R"({"issuer":"h"})"})
    EXPECT_FALSE(check(test::value_of(read(bad))).ok()) << bad;
}

TEST(OauthTokens, AreReadWithCare) {
  const TimePoint now{std::chrono::seconds(1'000'000)};
  Grant grant;
  grant.requested = {"a"};
  grant.refresh_token = "old";
  ASSERT_TRUE(take_tokens({{"access_token", "t"}, {"token_type", "bearer"}, {"expires_in", 3600}},
                          now, grant)
                  .ok());
  EXPECT_EQ(grant.refresh_token, "old") << "one that is not replaced stays";
  EXPECT_EQ(grant.expires - now, std::chrono::hours(1));
  EXPECT_EQ(grant.expires - grant.renew_at, std::chrono::seconds(60));
  EXPECT_EQ(grant.granted, grant.requested);
  ASSERT_TRUE(take_tokens({{"access_token", "u"},
                           {"token_type", "Bearer"},
                           {"refresh_token", "new"},
                           {"expires_in", 8},
                           {"scope", "b c"}},
                          now, grant)
                  .ok());
  EXPECT_EQ(grant.refresh_token, "new");
  EXPECT_EQ(grant.expires - grant.renew_at, std::chrono::seconds(2));
  EXPECT_EQ(grant.granted, (Words{"b", "c"}));
  const auto kept = grant;
  for (const auto* bad : {R"({})", R"({"access_token":"a b","token_type":"Bearer"})",
                          R"({"access_token":"a\nX: y","token_type":"Bearer"})",
                          R"({"access_token":"a","token_type":"mac"})",
                          R"({"access_token":"a","token_type":"DPoP"})", R"({"access_token":"a"})"})
    EXPECT_FALSE(take_tokens(json::parse(bad)->get_object(), now, grant).ok()) << bad;
  EXPECT_EQ(grant.access_token, kept.access_token);
  // An absurdly long lifetime must not overflow.
  EXPECT_TRUE(take_tokens({{"access_token", "t"}, {"token_type", "bearer"}, {"expires_in", 1e300}},
                          now, grant)
                  .ok());
  EXPECT_GT(grant.expires, now);
}

}  // namespace
}  // namespace reef::oauth
