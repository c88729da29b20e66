#include "daemon/crabtalk_door.h"

#include <cerrno>
#include <cstring>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <fmt/format.h>

namespace reef::daemon {

Status CrabtalkDoor::check() const {
  REEF_CHECK(make_directories(files_, folder_));
  struct ::stat info = {};
  if (::lstat(socket().c_str(), &info) != 0)
    return errno == ENOENT ? Status(Ok{}) : Status(sys_error(errno, "look at " + socket()));
  if (!S_ISSOCK(info.st_mode))
    return Error(Errc::conflict, fmt::format("{} is no socket; it stays as it is", socket()));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (socket().size() >= sizeof address.sun_path)
    return Error(Errc::invalid, fmt::format("{} is too long for a socket", socket()));
  std::memcpy(address.sun_path, socket().c_str(), socket().size() + 1);
  const Fd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (probe.get() < 0) return sys_error(errno, "look whether somebody listens at " + socket());
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  if (::connect(probe.get(), generic, sizeof address) == 0 || errno == EAGAIN)
    return Error(Errc::conflict, fmt::format("another daemon listens at {}; its clients are left "
                                             "to it",
                                             socket()));
  // Nobody listens there any more. Any other error leaves it open who does.
  if (errno == ECONNREFUSED || errno == ENOENT) return Ok{};
  return sys_error(errno, "look whether somebody listens at " + socket());
}

void CrabtalkDoor::took_place() {
  struct ::stat info = {};
  if (::lstat(socket().c_str(), &info) != 0) return;
  device_ = info.st_dev;
  inode_ = info.st_ino;
}

Status CrabtalkDoor::tell_port(std::uint16_t port) {
  if (port == port_) return Ok{};
  if (port == 0) {
    ::unlink(port_file().c_str());
  } else {
    REEF_CHECK(replace_atomically(files_, port_file(), fmt::format("{}", port)));
  }
  port_ = port;
  return Ok{};
}

void CrabtalkDoor::leave() {
  if (inode_ == 0) return;
  struct ::stat info = {};
  if (::lstat(socket().c_str(), &info) == 0 && info.st_dev == device_ && info.st_ino == inode_)
    ::unlink(socket().c_str());
  inode_ = 0;
  static_cast<void>(tell_port(0).ok());
}

}  // namespace reef::daemon
