#include "skills/beneath.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fmt/format.h>
#include <linux/openat2.h>

#include "base/utf8.h"

namespace reef::skills {
namespace {

Error denied(const std::string& path, std::string_view why) {
  return Error(Errc::denied, fmt::format("'{}' {}", utf8::excerpt(path, 200), why));
}

}  // namespace

Result<Fd> open_beneath(const std::string& folder, const std::string& path) {
  if (path.empty() || path.find('\0') != std::string::npos)
    return Error(Errc::invalid, "a file needs a name");
  const Fd base(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!base) return sys_error(errno, fmt::format("open {}", utf8::excerpt(folder, 200)));
  open_how how = {};
  how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;  // opening a pipe must not wait
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  Fd file(static_cast<int>(::syscall(SYS_openat2, base.get(), path.c_str(), &how, sizeof how)));
  if (!file && (errno == EXDEV || errno == ELOOP)) return denied(path, "leads out of its folder");
  if (!file) return sys_error(errno, fmt::format("open {}", utf8::excerpt(path, 200)));
  struct ::stat info = {};
  if (::fstat(file.get(), &info) != 0) return sys_error(errno, "stat");
  if (!S_ISREG(info.st_mode)) return denied(path, "is no file");
  if (info.st_uid != ::geteuid() && info.st_uid != 0) return denied(path, "is another user's");
  return file;
}

}  // namespace reef::skills
