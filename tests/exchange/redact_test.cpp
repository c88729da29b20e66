#include "exchange/redact.h"

#include <chrono>

#include <gtest/gtest.h>

namespace reef::exchange {
namespace {

std::string redacted(std::string_view text) {
  Redactor redactor;
  std::string out;
  return redactor.redact(text, out) ? out : std::string(text);
}

// The secrets stand here in pieces, so that no scanner takes them for real ones.
std::string joined(std::initializer_list<std::string_view> pieces) {
  std::string out;
  for (const auto piece : pieces) out += piece;
  return out;
}

TEST(Redact, FindsTheCommonKinds) {
  const std::string word(40, 'a');
  const std::pair<std::string, std::string> cases[] = {
      {joined({"AKIA", "IOSFODNN7EXAMPLE"}), "aws-key"},
      {joined({"sk-", "proj-abc123def456ghi789"}), "api-key"},
      {joined({"ghp_", word}), "github-token"},
      {joined({"xoxb-", "123456789012-abcdef"}), "slack-token"},
      {joined({"AIza", std::string(35, 'b')}), "google-key"},
      {joined({"sk_live_", word}), "stripe-key"},
      {joined({"eyJ", "hbGciOiJIUzI1NiJ9", ".eyJzdWIiOiIxIn0", ".c2lnbmF0dXJl"}), "jwt"},
      {joined(
           {"-----BEGIN OPENSSH ", "PRIVATE KEY-----\nabc\n-----END OPENSSH ", "PRIVATE KEY-----"}),
       "private-key"},
  };
  for (const auto& [secret, kind] : cases)
    EXPECT_EQ(redacted("before " + secret + " after"), "before [redacted:" + kind + "] after");
  EXPECT_EQ(redacted("Authorization: Bearer abcdefghijklmnopqrstuv"),
            "Authorization: Bearer [redacted:bearer-token]");
  EXPECT_EQ(redacted("https://me:pa55word@example.org/x"),
            "https://me:[redacted:url-password]@example.org/x");
  EXPECT_EQ(redacted("DB_PASSWORD=tr0ub4dor&x"), "DB_PASSWORD=[redacted:password]&x");
  EXPECT_EQ(redacted(R"({"api_key": "abc123def456"})"), R"({"api_key": "[redacted:password]"})");
}

TEST(Redact, FindsEveryPrefixAndEveryNameWhereverItBegins) {
  const std::string body = "A1" + std::string(48, 'B');
  for (const std::string prefix : {"GOCSPX-",     "ya29.",    "sk-",
                                   "sk_live_",    "sk_test_", "rk_live_",
                                   "whsec_",      "ghp_",     "gho_",
                                   "ghu_",        "ghs_",     "ghr_",
                                   "github_pat_", "glpat-",   "xoxb-",
                                   "xoxp-",       "xoxa-",    "xoxr-",
                                   "xoxs-",       "xapp-",    "npm_",
                                   "pypi-",       "hf_",      "gsk_",
                                   "xai-",        "dop_v1_",  "AGE-SECRET-KEY-",
                                   "SG.",         "shpat_",   "lin_api_",
                                   "ntn_",        "tvly-",    "pplx-",
                                   "r8_"})
    for (const std::string before : {"", " ", "\n", "\"", "=", "\xC3\xA4"}) {
      const auto out = redacted(before + prefix + body);
      EXPECT_TRUE(out.starts_with(before + "[redacted:") && out.ends_with("]")) << prefix << out;
    }
  for (const std::string prefix : {"AKIA", "ASIA", "ABIA", "ACCA"})
    EXPECT_EQ(redacted("\n" + prefix + std::string(16, 'X')), "\n[redacted:aws-key]");
  for (const std::string name :
       {"password", "passwd", "api_key", "apikey", "api-key", "secret_key", "secret",
        "access_token", "auth_token", "client_secret", "secret_access_key", "private_key",
        "refresh_token", "PASSWORD", "Secret", "API_KEY", "Client_Secret"})
    for (const std::string before : {"", "my_", "my-", " "}) {
      const auto out = redacted(before + name + " = 'abcdefgh1'");
      EXPECT_EQ(out, before + name + " = '[redacted:password]'");
    }
}

TEST(Redact, LeavesOrdinaryTextAlone) {
  for (const std::string_view text :
       {"the password is in the vault", "password: see the wiki", "sk-learn is a library",
        "a task-based-approach-to-everything", "https://example.org:8080/path@x",
        "mail me at me@example.org", "eyJust a word", "AKIA", "-----BEGIN CERTIFICATE-----",
        "apikey = os.environ[\"KEY1\"]", "bearer of bad news", ""})
    EXPECT_EQ(redacted(text), text);
}

TEST(Redact, TakesTimeByLengthOnly) {
  for (const std::string_view piece :
       {"sk-", "eyJ", "eyJ.", "://a:", "-----BEGIN ", "bearer ", "password=", "SG.", "AKIA"}) {
    std::string text;
    while (text.size() < (256U << 10)) text += piece;
    const auto before = std::chrono::steady_clock::now();
    static_cast<void>(find_secrets(text));
    EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(20)) << piece;
  }
}

}  // namespace
}  // namespace reef::exchange
