#include "model/base_url.h"

#include <algorithm>

#include "http/host.h"

namespace reef::model {
namespace {

// Returns the position after the scheme.
std::size_t origin_of(std::string_view url) {
  const auto scheme = url.find("://");
  return scheme == std::string_view::npos ? 0 : scheme + 3;
}

void drop_slashes(std::string& url) {
  while (url.size() > origin_of(url) && url.ends_with('/')) url.pop_back();
}

}  // namespace

std::string base_url_from(std::string_view text, std::initializer_list<std::string_view> endings) {
  std::string url(text);
  url.erase(0, std::min(url.find_first_not_of(" \t\r\n"), url.size()));
  url.erase(std::min(url.find_first_of(" \t\r\n?#"), url.size()));
  if (url.empty()) return url;
  if (url.find("://") == std::string::npos) {
    // A key leaves this machine and its network only encrypted.
    const bool near = http::is_inner_host(http::host_in(url));
    url.insert(0, near ? "http://" : "https://");
  }
  drop_slashes(url);
  for (const auto ending : endings) {
    if (url.find('/', origin_of(url)) == std::string::npos || !url.ends_with(ending)) continue;
    url.resize(url.size() - ending.size());
    drop_slashes(url);
    break;
  }
  return url;
}

std::string before_folder(std::string url, std::string_view folder) {
  const auto path = url.find('/', origin_of(url));
  if (path == std::string::npos) return url;
  if (const auto at = url.find(folder, path); at != std::string::npos) url.erase(at);
  return url;
}

}  // namespace reef::model
