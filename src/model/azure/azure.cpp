#include "model/azure/azure.h"

namespace reef::model::azure {
namespace {

constexpr std::string_view kVersion = "api-version=";

std::string resource_of(std::string url) {
  url.erase(0, std::min(url.find_first_not_of(" \t\r\n"), url.size()));
  url.erase(std::min(url.find_first_of(" \t\r\n?#"), url.size()));
  // A bare name can only mean a resource of Azure.
  if (url.find_first_of(".:/") == std::string::npos) url += ".openai.azure.com";
  if (url.find("://") == std::string::npos) url.insert(0, "https://");
  const auto origin = url.find("://") + 3;
  if (const auto path = url.find("/openai", origin); path != std::string::npos) url.erase(path);
  while (url.size() > origin && url.ends_with('/')) url.pop_back();
  return url;
}

std::string version_in(const std::string& url) {
  const auto at = url.find(kVersion);
  if (at == std::string::npos) return {};
  const auto from = at + kVersion.size();
  return url.substr(from, url.find_first_of("&# \t\r\n", from) - from);
}

bool looks_like_token(const std::string& key) {
  return key.starts_with("eyJ");
}

}  // namespace

openai::Endpoint endpoint_at(const Settings& settings, const std::string& key) {
  const auto base = resource_of(settings.base_url) + "/openai";
  const auto version =
      settings.api_version.empty() ? version_in(settings.base_url) : settings.api_version;
  openai::Endpoint endpoint;
  endpoint.official = true;
  if (version.empty() || version == "v1") {
    endpoint.chat_url = base + "/v1/chat/completions";
    endpoint.responses_url = base + "/v1/responses";
  } else {
    const auto query = "?" + std::string(kVersion) + version;
    endpoint.chat_url = base + "/deployments/{model}/chat/completions" + query;
    endpoint.responses_url = base + "/responses" + query;
  }
  if (key.empty()) return endpoint;
  const bool bearer = settings.auth == Settings::Auth::bearer ||
                      (settings.auth == Settings::Auth::automatic && looks_like_token(key));
  if (bearer) {
    endpoint.headers.emplace_back("Authorization", "Bearer " + key);
  } else {
    endpoint.headers.emplace_back("api-key", key);
  }
  return endpoint;
}

}  // namespace reef::model::azure
