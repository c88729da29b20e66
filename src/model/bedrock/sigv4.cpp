#include "model/bedrock/sigv4.h"

#include <algorithm>
#include <ctime>
#include <map>
#include <vector>

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/assert.h"
#include "base/digest.h"
#include "base/utf8.h"
#include "http/url.h"

namespace reef::model::bedrock {
namespace {

constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";

std::string hmac(std::string_view key, std::string_view text) {
  std::string out(EVP_MAX_MD_SIZE, '\0');
  unsigned size = 0;
  const auto* done = HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
                          reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                          reinterpret_cast<unsigned char*>(out.data()), &size);
  REEF_ASSERT(done != nullptr);
  out.resize(size);
  return out;
}

std::string hex(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return out;
}

struct Url {
  std::string_view host, path, query;
};

Url split(std::string_view url) {
  Url out;
  if (const auto scheme = url.find("://"); scheme != std::string_view::npos)
    url.remove_prefix(scheme + 3);
  const auto question = url.find('?');
  if (question != std::string_view::npos) {
    out.query = url.substr(question + 1);
    url = url.substr(0, question);
  }
  const auto slash = std::min(url.find('/'), url.size());
  out.host = url.substr(0, slash);
  out.path = url.substr(slash);
  return out;
}

// Encodes every segment once more than in the request.
std::string canonical_path(std::string_view path) {
  if (path.empty()) return "/";
  std::string out;
  while (!path.empty()) {
    const auto slash = std::min(path.find('/'), path.size());
    out += http::percent_encoded(path.substr(0, slash));
    path.remove_prefix(slash);
    if (!path.empty()) {
      out += '/';
      path.remove_prefix(1);
    }
  }
  return out;
}

// Sorts the parameters, whose names and values are already encoded.
std::string canonical_query(std::string_view query) {
  std::vector<std::pair<std::string_view, std::string_view>> parameters;
  while (!query.empty()) {
    const auto end = std::min(query.find('&'), query.size());
    const auto one = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    const auto equals = one.find('=');
    parameters.emplace_back(one.substr(0, equals), equals == std::string_view::npos
                                                       ? std::string_view()
                                                       : one.substr(equals + 1));
  }
  std::sort(parameters.begin(), parameters.end());
  std::string out;
  for (const auto& [name, value] : parameters)
    out += fmt::format("{}{}={}", out.empty() ? "" : "&", name, value);
  return out;
}

// Trims the value and reduces runs of spaces to one.
std::string canonical_value(std::string_view value) {
  std::string out;
  for (const char c : value) {
    if (c == ' ' && (out.empty() || out.back() == ' ')) continue;
    out += c;
  }
  while (out.ends_with(' ')) out.pop_back();
  return out;
}

// Formats a time as 20150830T123600Z.
std::string stamp(TimePoint time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count();
  const std::time_t when = seconds;
  std::tm parts = {};
  gmtime_r(&when, &parts);
  return fmt::format("{:04}{:02}{:02}T{:02}{:02}{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

}  // namespace

void sign(HttpRequest& request, const AwsKeys& keys, std::string_view region,
          std::string_view service, TimePoint now) {
  const auto time = stamp(now);
  const auto date = time.substr(0, 8);
  request.headers.emplace_back("x-amz-date", time);
  if (!keys.session_token.empty())
    request.headers.emplace_back("x-amz-security-token", keys.session_token);

  const auto url = split(request.url);
  std::map<std::string, std::string> headers = {{"host", std::string(url.host)}};
  for (const auto& [name, value] : request.headers) {
    auto& all = headers[utf8::lower_ascii(name)];
    if (!all.empty()) all += ",";
    all += canonical_value(value);
  }
  std::string lines, names;
  for (const auto& [name, value] : headers) {
    lines += name + ":" + value + "\n";
    names += (names.empty() ? "" : ";") + name;
  }

  const auto canonical =
      fmt::format("{}\n{}\n{}\n{}\n{}\n{}", request.method, canonical_path(url.path),
                  canonical_query(url.query), lines, names, hex(sha256(request.body)));
  const auto scope = fmt::format("{}/{}/{}/aws4_request", date, region, service);
  const auto to_sign =
      fmt::format("{}\n{}\n{}\n{}", kAlgorithm, time, scope, hex(sha256(canonical)));

  auto key = hmac("AWS4" + keys.secret, date);
  for (const auto part : {region, service, std::string_view("aws4_request")}) key = hmac(key, part);
  request.headers.emplace_back(
      "authorization", fmt::format("{} Credential={}/{}, SignedHeaders={}, Signature={}",
                                   kAlgorithm, keys.id, scope, names, hex(hmac(key, to_sign))));
}

}  // namespace reef::model::bedrock
