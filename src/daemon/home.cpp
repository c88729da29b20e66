#include "daemon/home.h"

#include <cerrno>
#include <cstdlib>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "store/fs/fs_ownership.h"

namespace reef::daemon {
namespace {

Result<std::string> absolute(const std::string& path) {
  if (path.starts_with('/')) return path;
  std::string here(4096, '\0');
  if (!::getcwd(here.data(), here.size())) return sys_error(errno, "find the current directory");
  here.resize(here.find('\0'));
  return here + "/" + path;
}

std::string name_of(uid_t uid) {
  const auto* user = ::getpwuid(uid);
  return user ? fmt::format("{} (uid {})", user->pw_name, uid) : fmt::format("uid {}", uid);
}

// A path that does not exist is fine.
Status belongs_to_us(const std::string& path, bool or_to_root = false) {
  struct ::stat info = {};
  if (::stat(path.c_str(), &info) != 0)
    return errno == ENOENT ? Status(Ok{}) : Status(sys_error(errno, "look at " + path));
  const auto me = ::geteuid();
  if (info.st_uid != me && !(or_to_root && info.st_uid == 0))
    return Error(
        Errc::denied,
        fmt::format("{} belongs to {}, not to {}, who runs this daemon: it would do what they "
                    "wrote there; choose another home, or `chown -R`",
                    path, name_of(info.st_uid), name_of(me)));
  if ((info.st_mode & 0022U) != 0)
    return Error(
        Errc::denied,
        fmt::format("{} can be written by others (mode {:o}): they could make this daemon run "
                    "what they want; `chmod go-w {}` mends it",
                    path, info.st_mode & 07777U, path));
  return Ok{};
}

}  // namespace

Result<Home> find_home(const std::string& flag) {
  std::string path = flag;
  if (path.empty())
    if (const char* from_environment = std::getenv("REEF_HOME")) path = from_environment;
  if (path.empty()) {
    const char* user_home = std::getenv("HOME");
    if (!user_home || !*user_home) {
      const auto* user = ::getpwuid(::geteuid());
      user_home = user ? user->pw_dir : nullptr;
    }
    if (!user_home || !*user_home)
      return Error(Errc::not_found, "no home directory: set REEF_HOME or pass --home DIR");
    path = std::string(user_home) + "/.reef";
  }
  if (path.find('\0') != std::string::npos || path.find('\n') != std::string::npos)
    return Error(Errc::invalid, "the home directory's path holds a line break or NUL");
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  REEF_TRY(path, absolute(path));
  return Home{std::move(path)};
}

Status prepare_home(Files& files, const Home& home) {
  for (const auto& directory : {home.root, home.run(), home.sessions(), home.logs()}) {
    auto made = make_directories(files, directory);
    if (!made) return std::move(made).error().with("prepare home");
  }
  return Ok{};
}

Status trust_home(const Home& home) {
  for (const auto& path :
       {home.root, home.config(), home.agents(), home.skills(), home.run(), home.root + "/events"})
    REEF_CHECK(belongs_to_us(path));
  // Others may still be able to write to a file in a folder that is ours.
  for (const auto& folder : {home.agents(), home.root + "/events"}) {
    const auto names = PosixFiles().list(folder);
    if (!names) continue;
    for (const auto& name : *names) REEF_CHECK(belongs_to_us(folder + "/" + name, true));
  }
  return Ok{};
}

Result<std::unique_ptr<session::Hold>> own_home(const Home& home) {
  return store::FsOwnership(home.root).take();
}

std::optional<session::Holder> holder_of(const Home& home) {
  auto holder = store::FsOwnership(home.root).holder();
  return holder ? *std::move(holder) : std::nullopt;
}

}  // namespace reef::daemon
