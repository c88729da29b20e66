#include "daemon/readiness.h"

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/files.h"

namespace reef::daemon {
namespace {

// One datagram to $NOTIFY_SOCKET, when systemd started us; libsystemd would make the program load
// five more libraries for it.
void notify_systemd(std::string_view state) {
  const char* path = std::getenv("NOTIFY_SOCKET");
  if (!path || !*path) return;
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const auto length = std::strlen(path);
  if (length >= sizeof address.sun_path) return;
  std::memcpy(address.sun_path, path, length);
  if (path[0] == '@') address.sun_path[0] = '\0';  // abstract name
  const Fd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd) return;
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length);
  static_cast<void>(::sendto(fd.get(), state.data(), state.size(), MSG_NOSIGNAL,
                             reinterpret_cast<const sockaddr*>(&address), size));
}

}  // namespace

void tell_ready(int ready_fd) {
  notify_systemd("READY=1");
  if (ready_fd < 0) return;
  static_cast<void>(::write(ready_fd, "ready\n", 6) == 6);
  ::close(ready_fd);
  if (const int nothing = ::open("/dev/null", O_WRONLY | O_CLOEXEC); nothing >= 0) {
    ::dup2(nothing, STDERR_FILENO);
    ::close(nothing);
  }
}

void tell_stopping() {
  notify_systemd("STOPPING=1");
}

}  // namespace reef::daemon
