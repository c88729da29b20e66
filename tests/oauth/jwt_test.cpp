#include "oauth/jwt.h"

#include <gtest/gtest.h>

#include "base/base64.h"
#include "oauth/address.h"
#include "oauth/client.h"
#include "support/run.h"

namespace reef::oauth {
namespace {

json::object part(const std::string& jwt, int which) {
  auto rest = jwt;
  for (int i = 0; i < which; ++i) rest.erase(0, rest.find('.') + 1);
  auto text = rest.substr(0, rest.find('.'));
  for (auto& c : text) c = c == '-' ? '+' : c == '_' ? '/' : c;
  while (text.size() % 4 != 0) text += '=';
  return json::parse(*from_base64(text))->get_object();
}

TEST(OauthPkce, IsThatOfTheStandard) {
  // RFC 7636, appendix B.
  EXPECT_EQ(challenge_of("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"),
            "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
  const auto one = random_word(32), other = random_word(32);
  EXPECT_EQ(one.size(), 43U);
  EXPECT_NE(one, other);
  EXPECT_EQ(one.find_first_of("+/="), std::string::npos);
}

TEST(OauthKeys, AreReadAndWrittenAndOthersRefused) {
  const auto key = test::value_of(SigningKey::make());
  const auto again = test::value_of(SigningKey::from_pem(key.pem()));
  EXPECT_EQ(key.jwk(), again.jwk());
  EXPECT_FALSE(key.jwk().contains("d")) << "only the public half";
  EXPECT_EQ(key.sign("x").size(), 64U);
  for (const auto* pem :
       {"", "nonsense", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"})
    EXPECT_FALSE(SigningKey::from_pem(pem).ok());
  // Ed25519, from RFC 8410.
  const auto other = SigningKey::from_pem(
      "-----BEGIN PRIVATE "
      "KEY-----\nMC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n"
      "-----END PRIVATE KEY-----\n");
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code, Errc::unsupported);
}

TEST(OauthJwt, AssertionsAndProofsSayWhatTheyShould) {
  const auto key = test::value_of(SigningKey::make());
  const auto assertion = client_assertion(key, "k1", "me", "https://as", 1000);
  EXPECT_EQ(part(assertion, 0).at("kid").as_string(), "k1");
  EXPECT_EQ(part(assertion, 0).at("alg").as_string(), "ES256");
  EXPECT_EQ(part(assertion, 1).at("iss"), part(assertion, 1).at("sub"));
  EXPECT_EQ(part(assertion, 1).at("aud").as_string(), "https://as");
  EXPECT_EQ(part(assertion, 1).at("exp").as_int64(), 1300);
  const auto proof = dpop_proof(key, "POST", "https://h/x?secret=1#f", "token", "n", 1000);
  EXPECT_EQ(part(proof, 0).at("typ").as_string(), "dpop+jwt");
  EXPECT_EQ(part(proof, 1).at("htu").as_string(), "https://h/x");
  EXPECT_EQ(part(proof, 1).at("ath").as_string(), challenge_of("token"));
  EXPECT_EQ(part(proof, 1).at("nonce").as_string(), "n");
  EXPECT_NE(part(proof, 1).at("jti"),
            part(dpop_proof(key, "POST", "https://h/x", "token", "n", 1000), 1).at("jti"));
}

TEST(OauthClient, ProvesItselfByEveryMethod) {
  Client client;
  client.id = "a:b";
  client.secret = "s p";
  const auto proved = [&](const std::string& method) {
    client.method = method;
    std::pair<Parameters, http::Headers> out;
    prove(client, "https://as", 1000, out.first, out.second);
    return out;
  };
  const auto basic = proved("client_secret_basic");
  EXPECT_EQ(basic.second.at(0).second, "Basic " + to_base64("a%3Ab:s%20p"));
  EXPECT_TRUE(basic.first.empty());
  const auto post = proved("client_secret_post");
  EXPECT_EQ(find_parameter(post.first, "client_secret"), "s p");
  EXPECT_TRUE(post.second.empty());
  const auto none = proved("none");
  EXPECT_EQ(none.first, (Parameters{{"client_id", "a:b"}}));
  client.key = test::value_of(SigningKey::make());
  const auto jwt = proved("private_key_jwt");
  EXPECT_EQ(part(*find_parameter(jwt.first, "client_assertion"), 1).at("iss").as_string(), "a:b");
  EXPECT_FALSE(find_parameter(jwt.first, "client_secret"));
}

}  // namespace
}  // namespace reef::oauth
