#include "transport/unix_path.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/un.h>

#include <fmt/format.h>

namespace reef::transport {

Result<UnixAddress> unix_address(const std::string& path) {
  if (path.size() < sizeof(sockaddr_un::sun_path)) return UnixAddress{path, Fd()};
  const auto slash = path.find_last_of('/');
  if (slash == std::string::npos)
    return Error(Errc::invalid, "socket path " + path + ": name too long");
  const auto directory = path.substr(0, slash);
  Fd fd(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return sys_error(errno, "open " + directory);
  auto short_path = fmt::format("/proc/self/fd/{}/{}", fd.get(), path.substr(slash + 1));
  return UnixAddress{std::move(short_path), std::move(fd)};
}

}  // namespace reef::transport
