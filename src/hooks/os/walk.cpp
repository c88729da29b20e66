#include "hooks/os/walk.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <dirent.h>

#include "base/files.h"
#include "base/utf8.h"
#include "hooks/os/files.h"

namespace reef::hooks::os {
namespace {

constexpr std::uint64_t kIgnoreBytesMax = 256U << 10;

bool is_folder(int parent, const dirent& entry) {
  if (entry.d_type == DT_DIR) return true;
  if (entry.d_type != DT_UNKNOWN) return false;
  struct ::stat info = {};
  return ::fstatat(parent, entry.d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(info.st_mode);
}

}  // namespace

Walk::Walk(PathRules paths, std::string root, bool respect_ignores)
    : paths_(std::move(paths)), root_(std::move(root)), respect_ignores_(respect_ignores) {}

bool Walk::closed(const std::string& path) const {
  if (path == "/proc" || path == "/sys" || path == "/dev") return true;
  // This includes the session's own folder, unless the walk began there: a search should not find
  // what was said in this conversation.
  return within(paths_.reef_home, path) && !within(paths_.session, root_);
}

bool Walk::ignored(const std::string& relative, bool folder) const {
  // The nearest .gitignore that says something about the path decides.
  for (auto level = stack_.rbegin(); level != stack_.rend(); ++level) {
    if (level->ignore.empty()) continue;
    const auto skip = level->relative.empty() ? 0 : level->relative.size() + 1;
    const auto verdict = level->ignore.judge(std::string_view(relative).substr(skip), folder);
    if (verdict != Ignore::Verdict::silent) return verdict == Ignore::Verdict::ignored;
  }
  return false;
}

Status Walk::enter(std::string path, std::string relative) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY | O_NOFOLLOW);
  if (fd < 0) return sys_error(errno, utf8::excerpt(path, 200));
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::fdopendir(fd), ::closedir);
  if (!folder) {
    const int failed = errno;
    ::close(fd);
    return sys_error(failed, utf8::excerpt(path, 200));
  }
  Level level{std::move(path), std::move(relative), {}, 0, {}};
  bool has_ignores = false;
  while (const auto* entry = ::readdir(folder.get())) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == ".." || name == ".git") continue;
    if (level.names.size() >= kNamesMax) {
      cut_ = true;
      break;
    }
    const bool sub = is_folder(::dirfd(folder.get()), *entry);
    if (!sub && entry->d_type != DT_REG && entry->d_type != DT_UNKNOWN) continue;
    has_ignores = has_ignores || name == ".gitignore";
    level.names.push_back({std::string(name), sub});
  }
  std::sort(level.names.begin(), level.names.end(),
            [](const Name& a, const Name& b) { return a.text < b.text; });
  if (has_ignores && respect_ignores_)
    if (const auto rules = read_file(level.path + "/.gitignore", kIgnoreBytesMax))
      level.ignore = Ignore::parse(rules->bytes);
  stack_.push_back(std::move(level));
  return Ok{};
}

Status Walk::go_on(std::chrono::milliseconds slice, const std::function<bool(const Found&)>& see) {
  const auto until = std::chrono::steady_clock::now() + slice;
  if (!started_) {
    REEF_CHECK(enter(root_, ""));
    started_ = true;
  }
  while (!stack_.empty() && std::chrono::steady_clock::now() < until) {
    auto& level = stack_.back();
    if (level.next == level.names.size()) {
      stack_.pop_back();
      continue;
    }
    const auto& name = level.names[level.next++];
    auto path = (level.path == "/" ? "" : level.path) + "/" + name.text;
    auto relative = level.relative.empty() ? name.text : level.relative + "/" + name.text;
    if (closed(path) || ignored(relative, name.folder)) continue;
    if (!name.folder) {
      if (!see(Found{std::move(path), std::move(relative)})) break;
    } else if (stack_.size() >= kDepthMax) {
      cut_ = true;
    } else {
      static_cast<void>(enter(std::move(path), std::move(relative)).ok());
    }
  }
  return Ok{};
}

}  // namespace reef::hooks::os
