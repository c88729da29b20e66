#include "exchange/redact.h"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

namespace reef::exchange {
namespace {

constexpr bool is_alnum(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}
constexpr bool is_word(char c) {
  return is_alnum(c) || c == '_';
}
constexpr bool is_token(char c) {
  return is_alnum(c) || c == '_' || c == '-';
}
bool is_upper_or_digit(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}
bool is_base64(char c) {
  return is_alnum(c) || c == '+' || c == '/' || c == '=' || c == '-' || c == '_';
}
// The characters of a bearer token (RFC 6750).
bool is_bearer(char c) {
  return is_token(c) || c == '.' || c == '~' || c == '+' || c == '/' || c == '=';
}
char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// The run is bounded, so that text that only looks like the beginning of a secret stays cheap.
std::size_t run_of(std::string_view text, std::size_t from, bool (*belongs)(char)) {
  constexpr std::size_t kRunMax = 4096;
  const auto stop = std::min(text.size(), from + kRunMax);
  auto end = from;
  while (end < stop && belongs(text[end])) ++end;
  return end - from;
}

// A prefix, then at least (or exactly) so many characters of a kind.
struct Shape {
  std::string_view prefix;
  std::size_t min;
  bool exact;
  bool (*belongs)(char);
  std::string_view kind;
};

// Sorted by prefix.
constexpr Shape kShapes[] = {
    {"ABIA", 16, true, is_upper_or_digit, "aws-key"},
    {"ACCA", 16, true, is_upper_or_digit, "aws-key"},
    {"AGE-SECRET-KEY-", 40, false, is_alnum, "age-key"},
    {"AIza", 35, true, is_token, "google-key"},
    {"AKIA", 16, true, is_upper_or_digit, "aws-key"},
    {"ASIA", 16, true, is_upper_or_digit, "aws-key"},
    {"GOCSPX-", 20, false, is_token, "google-secret"},
    {"SG.", 40, false, is_bearer, "sendgrid-key"},
    {"dop_v1_", 40, false, is_alnum, "digitalocean-token"},
    {"gho_", 36, false, is_alnum, "github-token"},
    {"ghp_", 36, false, is_alnum, "github-token"},
    {"ghr_", 36, false, is_alnum, "github-token"},
    {"ghs_", 36, false, is_alnum, "github-token"},
    {"ghu_", 36, false, is_alnum, "github-token"},
    {"github_pat_", 22, false, is_word, "github-token"},
    {"glpat-", 20, false, is_token, "gitlab-token"},
    {"gsk_", 30, false, is_alnum, "groq-key"},
    {"hf_", 30, false, is_alnum, "huggingface-token"},
    {"lin_api_", 30, false, is_alnum, "linear-key"},
    {"npm_", 36, false, is_alnum, "npm-token"},
    {"ntn_", 40, false, is_alnum, "notion-token"},
    {"pplx-", 30, false, is_alnum, "perplexity-key"},
    {"pypi-", 40, false, is_token, "pypi-token"},
    {"r8_", 30, false, is_alnum, "replicate-token"},
    {"rk_live_", 16, false, is_word, "stripe-key"},
    {"shpat_", 32, false, is_alnum, "shopify-token"},
    {"sk-", 20, false, is_token, "api-key"},
    {"sk_live_", 16, false, is_word, "stripe-key"},
    {"sk_test_", 16, false, is_word, "stripe-key"},
    {"tvly-", 20, false, is_token, "tavily-key"},
    {"whsec_", 16, false, is_base64, "stripe-secret"},
    {"xai-", 40, false, is_alnum, "xai-key"},
    {"xapp-", 10, false, is_token, "slack-token"},
    {"xoxa-", 10, false, is_token, "slack-token"},
    {"xoxb-", 10, false, is_token, "slack-token"},
    {"xoxp-", 10, false, is_token, "slack-token"},
    {"xoxr-", 10, false, is_token, "slack-token"},
    {"xoxs-", 10, false, is_token, "slack-token"},
    {"ya29.", 20, false, is_token, "google-token"},
};

// Names whose value is secret wherever it is assigned: name = value, "name": "value". Sorted.
constexpr std::string_view kNames[] = {
    "access_token", "api-key",  "api_key",     "apikey",        "auth_token", "client_secret",
    "passwd",       "password", "private_key", "refresh_token", "secret",     "secret_access_key",
    "secret_key",
};

constexpr std::string_view word_of(const Shape& shape) {
  return shape.prefix;
}
constexpr std::string_view word_of(std::string_view name) {
  return name;
}

// The range of entries with one first letter in a sorted list; nearly every word of a text asks for
// it.
struct Range {
  std::uint8_t begin = 0, end = 0;
};
template <class T, std::size_t N>
constexpr std::array<Range, 256> by_first_letter(const T (&list)[N]) {
  static_assert(N < 256);
  std::array<Range, 256> out = {};
  for (std::size_t i = 0; i < N; ++i) {
    auto& range = out[static_cast<unsigned char>(word_of(list[i]).front())];
    if (range.end == 0) range.begin = static_cast<std::uint8_t>(i);
    range.end = static_cast<std::uint8_t>(i + 1);
  }
  return out;
}
template <class T, std::size_t N>
constexpr bool is_sorted(const T (&list)[N]) {
  for (std::size_t i = 1; i < N; ++i)
    if (word_of(list[i - 1]) >= word_of(list[i])) return false;
  return true;
}
static_assert(is_sorted(kShapes) && is_sorted(kNames));
constexpr auto kShapesOf = by_first_letter(kShapes);
constexpr auto kNamesOf = by_first_letter(kNames);

std::optional<Secret> shape_at(std::string_view text, std::size_t at) {
  const auto [begin, end] = kShapesOf[static_cast<unsigned char>(text[at])];
  for (auto i = begin; i < end; ++i) {
    const auto& shape = kShapes[i];
    if (text.compare(at, shape.prefix.size(), shape.prefix) != 0) continue;
    const auto count = run_of(text, at + shape.prefix.size(), shape.belongs);
    if (count < shape.min || (shape.exact && count != shape.min)) continue;
    const auto body = text.substr(at + shape.prefix.size(), count);
    // Words with dashes look like keys of this kind; keys hold digits.
    if (shape.prefix == "sk-" && body.find_first_of("0123456789") == std::string_view::npos)
      continue;
    return Secret{at, shape.prefix.size() + count, shape.kind};
  }
  return std::nullopt;
}

// header.payload.signature, each base64url; the first begins with {".
std::optional<Secret> jwt_at(std::string_view text, std::size_t at) {
  if (text.compare(at, 3, "eyJ") != 0) return std::nullopt;
  auto end = at + run_of(text, at, is_token);
  if (end - at < 10 || end >= text.size() || text[end] != '.') return std::nullopt;
  const auto payload = run_of(text, end + 1, is_token);
  end += 1 + payload;
  if (payload < 4 || end >= text.size() || text[end] != '.') return std::nullopt;
  end += 1 + run_of(text, end + 1, is_token);
  return Secret{at, end - at, "jwt"};
}

// -----BEGIN ... PRIVATE KEY----- to its end, or to the end of the text.
std::optional<Secret> private_key_at(std::string_view text, std::size_t at) {
  constexpr std::string_view kBegin = "-----BEGIN ";
  constexpr std::string_view kPrivate = "PRIVATE KEY";
  constexpr std::string_view kEnd = "-----END ";
  constexpr std::size_t kNameMax = 64;
  if (text.compare(at, kBegin.size(), kBegin) != 0) return std::nullopt;
  const auto name = text.substr(at + kBegin.size(), kNameMax);
  const auto stop = name.find("-----");
  if (stop == std::string_view::npos) return std::nullopt;
  if (name.substr(0, stop).find(kPrivate) == std::string_view::npos) return std::nullopt;
  const auto end = text.find(kEnd, at + kBegin.size());
  if (end == std::string_view::npos) return Secret{at, text.size() - at, "private-key"};
  const auto dashes = text.substr(end + kEnd.size(), kNameMax).find("-----");
  const auto last = dashes == std::string_view::npos ? end : end + kEnd.size() + dashes + 5;
  return Secret{at, last - at, "private-key"};
}

bool matches_lower(std::string_view text, std::size_t at, std::string_view wanted) {
  if (text.size() - at < wanted.size()) return false;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (lower(text[at + i]) != wanted[i]) return false;
  return true;
}

// Authorization: Bearer TOKEN
std::optional<Secret> bearer_at(std::string_view text, std::size_t at) {
  constexpr std::string_view kWord = "bearer";
  constexpr std::size_t kTokenMin = 20;
  if (!matches_lower(text, at, kWord)) return std::nullopt;
  auto from = at + kWord.size();
  if (from >= text.size() || text[from] != ' ') return std::nullopt;
  while (from < text.size() && text[from] == ' ') ++from;
  const auto count = run_of(text, from, is_bearer);
  if (count < kTokenMin) return std::nullopt;
  return Secret{from, count, "bearer-token"};
}

// The password of scheme://user:password@host.
std::optional<Secret> url_password_at(std::string_view text, std::size_t at) {
  constexpr std::string_view kMark = "://";
  constexpr std::size_t kMax = 256;
  if (at == 0 || !is_alnum(text[at - 1]) || text.compare(at, 3, kMark) != 0) return std::nullopt;
  const auto rest = text.substr(at + kMark.size(), kMax);
  const auto stop = rest.find_first_of(" \t\r\n/\"'<>`?#\\");
  const auto authority = rest.substr(0, stop);
  const auto host = authority.rfind('@');
  if (host == std::string_view::npos) return std::nullopt;
  const auto colon = authority.find(':');
  if (colon == std::string_view::npos || colon > host || colon + 1 == host) return std::nullopt;
  return Secret{at + kMark.size() + colon + 1, host - colon - 1, "url-password"};
}

std::optional<Secret> assignment_at(std::string_view text, std::size_t at) {
  constexpr std::size_t kValueMin = 8;
  constexpr std::size_t kValueMax = 512;
  const auto [begin, end_of_names] = kNamesOf[static_cast<unsigned char>(lower(text[at]))];
  for (auto i = begin; i < end_of_names; ++i) {
    const auto name = kNames[i];
    if (!matches_lower(text, at, name)) continue;
    auto from = at + name.size();
    if (from < text.size() && is_word(text[from])) continue;
    // A quote may end the name; it is escaped when JSON stands within a string.
    if (from < text.size() && text[from] == '\\') ++from;
    if (from < text.size() && (text[from] == '"' || text[from] == '\'')) ++from;
    while (from < text.size() && text[from] == ' ') ++from;
    if (from >= text.size() || (text[from] != '=' && text[from] != ':')) continue;
    ++from;
    while (from < text.size() && text[from] == ' ') ++from;
    if (from < text.size() && text[from] == '\\') ++from;
    const bool quoted = from < text.size() && (text[from] == '"' || text[from] == '\'');
    const char quote = quoted ? text[from++] : ' ';
    auto end = from;
    while (end < text.size() && end - from < kValueMax && text[end] != '\n' && text[end] != '\r' &&
           text[end] != '\\' &&
           (quoted ? text[end] != quote
                   : std::string_view(" \t,;\"')}]>&").find(text[end]) == std::string_view::npos))
      ++end;
    const auto value = text.substr(from, end - from);
    // A secret has digits, and no spaces; code and prose that only speaks of one has neither.
    if (value.size() < kValueMin || value.find(' ') != std::string_view::npos) continue;
    if (value.find_first_of("0123456789") == std::string_view::npos) continue;
    if (value.find_first_of("${(<") != std::string_view::npos) continue;
    return Secret{from, value.size(), "password"};
  }
  return std::nullopt;
}

enum Lead : std::uint8_t { none = 0, shape = 1, jwt = 2, pem = 4, url = 8, name = 16, bearer = 32 };

constexpr std::array<std::uint8_t, 256> make_leads() {
  std::array<std::uint8_t, 256> leads = {};
  const auto add = [&](char c, std::uint8_t lead) { leads[static_cast<unsigned char>(c)] |= lead; };
  for (const auto& s : kShapes) add(s.prefix.front(), Lead::shape);
  for (const auto n : kNames) {
    add(n.front(), Lead::name);
    add(static_cast<char>(n.front() - 'a' + 'A'), Lead::name);
  }
  add('e', Lead::jwt);
  add('-', Lead::pem);
  add(':', Lead::url);
  add('b', Lead::bearer);
  add('B', Lead::bearer);
  return leads;
}
constexpr auto kLeads = make_leads();

// For each first byte, the second bytes a secret can have, by their last five bits. This is enough
// to pass over nearly every word.
constexpr std::uint32_t bit_of(char second) {
  return 1U << (static_cast<unsigned char>(second) & 31U);
}
constexpr std::array<std::uint32_t, 256> make_seconds() {
  std::array<std::uint32_t, 256> out = {};
  const auto add = [&](char first, char second) {
    out[static_cast<unsigned char>(first)] |= bit_of(second);
  };
  for (const auto& s : kShapes) add(s.prefix[0], s.prefix[1]);
  // A letter has the same bits in both cases.
  for (const auto n : kNames)
    for (const char first : {n.front(), static_cast<char>(n.front() - 'a' + 'A')}) add(first, n[1]);
  add('e', 'y');
  add('-', '-');
  add(':', '/');
  add('b', 'e');
  add('B', 'e');
  return out;
}
constexpr auto kSeconds = make_seconds();

// The secrets that may begin after a byte. Most bytes are inside a word, where few may begin.
constexpr std::array<std::uint8_t, 256> make_followers() {
  std::array<std::uint8_t, 256> out = {};
  for (std::size_t i = 0; i < out.size(); ++i) {
    const char c = static_cast<char>(i);
    out[i] = Lead::pem | Lead::url;
    // DB_PASSWORD= counts, xpassword= does not.
    if (!is_alnum(c)) out[i] |= Lead::name;
    if (!is_word(c)) out[i] |= Lead::bearer;
    if (!is_token(c)) out[i] |= Lead::shape | Lead::jwt;
  }
  return out;
}
constexpr auto kFollowers = make_followers();

std::optional<Secret> secret_at(std::string_view text, std::size_t at, std::uint8_t lead) {
  std::optional<Secret> found;
  if ((lead & Lead::shape) != 0 && (found = shape_at(text, at))) return found;
  if ((lead & Lead::jwt) != 0 && (found = jwt_at(text, at))) return found;
  if ((lead & Lead::pem) != 0 && (found = private_key_at(text, at))) return found;
  if ((lead & Lead::url) != 0 && (found = url_password_at(text, at))) return found;
  if ((lead & Lead::bearer) != 0 && (found = bearer_at(text, at))) return found;
  if ((lead & Lead::name) != 0 && (found = assignment_at(text, at))) return found;
  return found;
}

}  // namespace

std::vector<Secret> find_secrets(std::string_view text) {
  std::vector<Secret> found;
  std::uint8_t allowed = 0xFF;
  for (std::size_t at = 0; at + 1 < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const auto lead = static_cast<std::uint8_t>(kLeads[byte] & allowed);
    allowed = kFollowers[byte];
    if (lead == Lead::none || (kSeconds[byte] & bit_of(text[at + 1])) == 0) continue;
    const auto secret = secret_at(text, at, lead);
    if (!secret) continue;
    found.push_back(*secret);
    at = secret->at + secret->size - 1;
    allowed = kFollowers[static_cast<unsigned char>(text[at])];
  }
  return found;
}

bool Redactor::redact(std::string_view text, std::string& out) {
  const auto secrets = find_secrets(text);
  if (secrets.empty()) return false;
  count_ += secrets.size();
  out.clear();
  std::size_t from = 0;
  for (const auto& [at, size, kind] : secrets) {
    out += text.substr(from, at - from);
    out += fmt::format("[redacted:{}]", kind);
    from = at + size;
  }
  out += text.substr(from);
  return true;
}

}  // namespace reef::exchange
