#include "hooks/os/paths.h"

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "base/utf8.h"

namespace reef::hooks::os {
namespace {

Result<std::string> real_path(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), std::free);
  if (!real) return sys_error(errno, utf8::excerpt(path, 200));
  return std::string(real.get());
}

Error closed(const PathRules& paths, std::string_view path) {
  return Error(Errc::denied,
               fmt::format("{}: Reef's own files are closed to tools, but for this conversation's "
                           "folder {}",
                           utf8::excerpt(path, 200), utf8::sanitize(paths.session)));
}

}  // namespace

bool within(std::string_view folder, std::string_view path) {
  if (folder.empty()) return false;
  if (folder == "/") return true;
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

Result<std::string> resolve(const PathRules& paths, std::string_view path) {
  if (path.empty()) return Error(Errc::invalid, "the path is empty");
  if (path.find('\0') != std::string_view::npos)
    return Error(Errc::invalid, "the path holds a NUL character");
  if (path.size() >= PATH_MAX)
    return Error(Errc::invalid,
                 fmt::format("the path has {} bytes; {} are possible", path.size(), PATH_MAX - 1));
  std::string full;
  if (path == "~" || path.starts_with("~/")) {
    full = paths.user_home + std::string(path.substr(1));
  } else if (path.front() == '/') {
    full = path;
  } else {
    full = paths.cwd + "/" + std::string(path);
  }
  // Resolves the part of the path that exists; the rest keeps its name.
  std::vector<std::string> missing;
  for (;;) {
    auto real = real_path(full);
    if (real) {
      for (auto part = missing.rbegin(); part != missing.rend(); ++part) {
        if (!real->ends_with('/')) *real += '/';
        *real += *part;
      }
      return real;
    }
    if (real.error().code != Errc::not_found) return real;
    while (full.ends_with('/')) full.pop_back();
    const auto slash = full.rfind('/');
    if (slash == std::string::npos) return real;
    auto part = full.substr(slash + 1);
    if (part == "..")
      return Error(Errc::not_found, fmt::format("{}: no such folder", utf8::excerpt(full, 200)));
    if (part != ".") missing.push_back(std::move(part));
    full.resize(slash == 0 ? 1 : slash);
  }
}

Result<std::string> resolve_to_read(const PathRules& paths, std::string_view path) {
  REEF_TRY(auto real, resolve(paths, path));
  if (within(paths.session, real)) return real;
  if (within(paths.reef_home, real)) return closed(paths, path);
  if (!paths.confined.empty() && !within(paths.confined, real))
    return Error(Errc::denied,
                 fmt::format("{}: senders from outside see {} only", utf8::excerpt(path, 200),
                             utf8::sanitize(paths.confined)));
  return real;
}

Result<std::string> resolve_to_write(const PathRules& paths, std::string_view path) {
  REEF_TRY(auto real, resolve_to_read(paths, path));
  if (within(paths.reef_home, real) && !is_plan(paths, real))
    return Error(
        Errc::denied,
        fmt::format("{}: of Reef's own files tools change nothing but plans, {}/plans/*.md",
                    utf8::excerpt(path, 200), utf8::sanitize(paths.session)));
  return real;
}

bool is_plan(const PathRules& paths, std::string_view resolved) {
  const auto folder = paths.session + "/plans/";
  if (paths.session.empty() || !resolved.starts_with(folder) || !resolved.ends_with(".md"))
    return false;
  const auto name = resolved.substr(folder.size());
  return name.size() > 3 && name.find('/') == std::string_view::npos && name.front() != '.';
}

std::string shown(const PathRules& paths, std::string_view resolved) {
  if (resolved != paths.cwd && paths.cwd != "/" && within(paths.cwd, resolved))
    resolved = resolved.substr(paths.cwd.size() + 1);
  return utf8::sanitize(resolved);
}

}  // namespace reef::hooks::os
