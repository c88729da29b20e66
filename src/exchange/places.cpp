#include "exchange/places.h"

#include <algorithm>

namespace reef::exchange {
namespace {

constexpr int kCountedDepthMax = 8;
constexpr std::string_view kHome = "HOME";

std::uint64_t bytes_below(Files& files, const std::string& path, int depth,
                          const std::atomic<bool>& cancelled) {
  const auto stat = files.stat_path(path);
  if (!stat || cancelled) return 0;
  if (!stat->directory) return stat->regular ? stat->size : 0;
  if (depth == 0) return 0;
  const auto names = files.list(path);
  if (!names) return 0;
  std::uint64_t bytes = 0;
  for (const auto& name : *names)
    bytes += bytes_below(files, path + "/" + name, depth - 1, cancelled);
  return bytes;
}

}  // namespace

std::uint64_t bytes_in(Files& files, const Source& source, const std::string& path,
                       const std::atomic<bool>& cancelled) {
  const auto folder = path + "/" + std::string(source.sessions_folder);
  const auto stat = files.stat_path(folder);
  return bytes_below(files, stat && stat->directory ? folder : path, kCountedDepthMax, cancelled);
}

std::vector<std::string_view> place_variables() {
  std::vector<std::string_view> names{kHome};
  for (const auto& source : sources())
    for (const auto& known : source.places) names.push_back(known.variable);
  return names;
}

std::vector<Place> find_places(Files& files,
                               const std::map<std::string, std::string>& environment) {
  const auto value = [&](std::string_view name) {
    const auto found = environment.find(std::string(name));
    return found == environment.end() ? std::string() : found->second;
  };
  const auto home = value(kHome);
  const std::atomic<bool> cancelled = false;
  std::vector<Place> places;
  const auto look = [&](const Source& source, const WellKnown& known) {
    auto path = value(known.variable);
    if (path.starts_with("~/")) path.replace(0, 1, home);
    if (path.empty() && !home.empty() && !known.below_home.empty())
      path = home + "/" + std::string(known.below_home);
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    const auto stat = path.starts_with('/') ? files.stat_path(path)
                                            : Result<Files::Stat>(Error(Errc::not_found, ""));
    if (!stat || !stat->directory) return;
    const bool twice = std::any_of(places.begin(), places.end(), [&](const auto& other) {
      return other.source == &source && other.path == path;
    });
    if (!twice) places.push_back({&source, path, bytes_in(files, source, path, cancelled)});
  };
  for (const auto& source : sources())
    for (const auto& known : source.places) look(source, known);
  return places;
}

}  // namespace reef::exchange
