#include <fmt/format.h>

#include "base/utf8.h"
#include "model/base_url.h"
#include "model/openai/openai.h"

namespace reef::model::openai {
namespace {

std::string url_encode(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.' || c == '~';
    if (plain) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

}  // namespace

std::string normalise_base_url(std::string_view text) {
  auto url = base_url_from(text, {"/chat/completions", "/completions", "/responses", "/models"});
  if (url.find('/', url.find("://") + 3) == std::string::npos) url += "/v1";
  return url;
}

Endpoint endpoint_at(std::string_view base_url, const std::string& key) {
  const auto base = normalise_base_url(base_url);
  const auto origin = base.find("://") + 3;
  const auto host = utf8::lower_ascii(base.substr(origin, base.find('/', origin) - origin));
  Endpoint endpoint;
  endpoint.chat_url = base + "/chat/completions";
  endpoint.responses_url = base + "/responses";
  endpoint.models_url = base + "/models";
  if (!key.empty()) endpoint.headers.emplace_back("Authorization", "Bearer " + key);
  endpoint.official = host == "api.openai.com";
  endpoint.echo_thoughts = host.ends_with("deepseek.com") || host.ends_with("moonshot.ai") ||
                           host.ends_with("moonshot.cn");
  return endpoint;
}

std::string expand(std::string_view url, std::string_view model) {
  std::string out(url);
  constexpr std::string_view kPlace = "{model}";
  if (const auto at = out.find(kPlace); at != std::string::npos)
    out.replace(at, kPlace.size(), url_encode(model));
  return out;
}

}  // namespace reef::model::openai
