#include "exchange/places.h"

namespace reef::exchange {
namespace {

constexpr int kCountedDepthMax = 8;

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

// Some programs keep browsers, packages and media beside the sessions.
std::string_view sessions_folder(Kind kind) {
  switch (kind) {
    case Kind::clawdbot:
      return "agents";
    case Kind::craft:
      return "workspaces";
    case Kind::pi:
    case Kind::crabtalk:
      return "sessions";
  }
  return "";
}

}  // namespace

std::uint64_t bytes_in(Files& files, Kind kind, const std::string& path,
                       const std::atomic<bool>& cancelled) {
  const auto folder = path + "/" + std::string(sessions_folder(kind));
  const auto stat = files.stat_path(folder);
  return bytes_below(files, stat && stat->directory ? folder : path, kCountedDepthMax, cancelled);
}

std::vector<Place> find_places(Files& files,
                               const std::map<std::string, std::string>& environment) {
  struct Known {
    Kind kind;
    std::string_view variable;  // empty: none
    std::string_view below_home;
  };
  constexpr Known kKnown[] = {
      {Kind::crabtalk, "CRABTALK_HOME", ".crabtalk"},
      {Kind::craft, "CRAFT_CONFIG_DIR", ".craft-agent"},
      {Kind::clawdbot, "CLAWDBOT_STATE_DIR", ".clawdbot"},
      {Kind::clawdbot, "OPENCLAW_STATE_DIR", ".openclaw"},
      {Kind::pi, "PI_CODING_AGENT_DIR", ".pi/agent"},
      {Kind::pi, "PI_CODING_AGENT_SESSION_DIR", ""},
  };
  const auto value = [&](std::string_view name) {
    const auto found = environment.find(std::string(name));
    return found == environment.end() ? std::string() : found->second;
  };
  const auto home = value("HOME");
  const std::atomic<bool> cancelled = false;
  std::vector<Place> places;
  for (const auto& [kind, variable, below_home] : kKnown) {
    auto path = value(variable);
    if (path.starts_with("~/")) path.replace(0, 1, home);
    if (path.empty() && !home.empty() && !below_home.empty())
      path = home + "/" + std::string(below_home);
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    const auto stat = path.starts_with('/') ? files.stat_path(path)
                                            : Result<Files::Stat>(Error(Errc::not_found, ""));
    if (!stat || !stat->directory) continue;
    const Place place{kind, path, bytes_in(files, kind, path, cancelled)};
    const bool twice = std::any_of(places.begin(), places.end(), [&](const auto& other) {
      return other.kind == kind && other.path == path;
    });
    if (!twice) places.push_back(place);
  }
  return places;
}

}  // namespace reef::exchange
