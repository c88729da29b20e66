#include "transport/identify.h"

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <dirent.h>

#include "base/ancestry.h"
#include "base/files.h"
#include "base/tcp_table.h"

namespace reef::transport {
namespace {

using protocol::Peer;
using Whose = Peer::Whose;

#ifndef SO_PEERPIDFD
constexpr int kPeerPidfd = 77;  // Linux 6.5
#else
constexpr int kPeerPidfd = SO_PEERPIDFD;
#endif

// Tells the owner of a living process.
Whose whose_is(pid_t process) {
  if (!has_children()) return Whose::user;
  const auto self = ::getpid();
  if (process == self) return Whose::user;  // the daemon talks to itself
  switch (kinship(process, self)) {
    case Kinship::stranger:
      return Whose::user;
    case Kinship::descendant:
      return Whose::daemon;
    case Kinship::unknown:
      break;
  }
  return Whose::unknown;
}

// Whether the process of this descriptor has been reaped, so that its number may be another's.
bool is_reaped(int pidfd) {
  return ::syscall(SYS_pidfd_send_signal, pidfd, 0, nullptr, 0) != 0 && errno == ESRCH;
}

enum class Holds : std::uint8_t { no, yes, hidden };

Holds holds(const std::string& folder, const std::string& wanted) {
  DIR* all = ::opendir(folder.c_str());
  if (all == nullptr) return errno == EACCES || errno == EPERM ? Holds::hidden : Holds::no;
  bool found = false;
  char target[64];
  while (const dirent* entry = ::readdir(all)) {
    const auto got = ::readlinkat(::dirfd(all), entry->d_name, target, sizeof target);
    if (got > 0 && std::string_view(target, static_cast<std::size_t>(got)) == wanted) {
      found = true;
      break;
    }
  }
  ::closedir(all);
  return found ? Holds::yes : Holds::no;
}

// The owner of a process, even of one that may not be looked into.
std::optional<uid_t> owner_of(const std::string& process) {
  struct ::stat info = {};
  if (::stat(process.c_str(), &info) != 0) return std::nullopt;
  return info.st_uid;
}

// Some process must be seen with the socket; a child that has it decides. A socket of another user
// may belong to a process of theirs that we may not look into, as long as no child hides in the
// same way: root's children can be whom they like, and those of others too, by sudo and subordinate
// ids.
Peer holder_of(const TcpSocket& socket) {
  Peer peer{Peer::Via::tcp, Whose::unknown, 0};
  peer.uid = socket.uid;
  const auto wanted = "socket:[" + std::to_string(socket.inode) + "]";
  const bool others = socket.uid != ::geteuid();
  bool may_be_theirs = false;
  bool may_be_a_childs = false;
  DIR* all = ::opendir("/proc");
  if (all == nullptr) return peer;
  while (const dirent* entry = ::readdir(all)) {
    int pid = 0;
    const char* end = entry->d_name + std::strlen(entry->d_name);
    if (std::from_chars(entry->d_name, end, pid).ptr != end || pid <= 0) continue;
    const auto process = "/proc/" + std::string(entry->d_name);
    const auto held = holds(process + "/fd", wanted);
    if (held == Holds::hidden && others) {
      if (whose_is(pid) != Whose::user) may_be_a_childs = true;
      if (owner_of(process) == socket.uid) may_be_theirs = true;
    }
    if (held != Holds::yes) continue;
    peer.pid = pid;
    peer.whose = whose_is(pid);
    if (peer.whose != Whose::unknown) break;
  }
  ::closedir(all);
  if (peer.pid == 0 && may_be_theirs && !may_be_a_childs) peer.whose = Whose::user;
  return peer;
}

}  // namespace

Peer unix_peer(int fd) {
  Peer peer{Peer::Via::unix_socket, Whose::unknown, 0};
  ucred who = {};
  socklen_t size = sizeof who;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) != 0) return peer;
  peer.pid = who.pid;
  peer.uid = who.uid;
  // The peer is outside of our process namespace, where none of our children can get.
  if (who.pid == 0) {
    peer.whose = Whose::user;
    return peer;
  }
  int pidfd = -1;
  size = sizeof pidfd;
  const bool held = ::getsockopt(fd, SOL_SOCKET, kPeerPidfd, &pidfd, &size) == 0;
  const Fd owned(held ? pidfd : -1);
  // When the kernel cannot hold the process for us, its number has to do.
  if (!held && errno != ENOPROTOOPT) return peer;
  peer.whose = whose_is(who.pid);
  // A process that is gone may have been anybody's, and its number may be another's by now.
  if (held ? is_reaped(pidfd) : ::kill(who.pid, 0) != 0 && errno == ESRCH)
    peer.whose = Whose::unknown;
  return peer;
}

Peer tcp_peer(std::uint16_t port, std::uint16_t peer_port) {
  const auto socket = loopback_socket(peer_port, port);
  if (!socket || socket->inode == 0) return {Peer::Via::tcp, Whose::unknown, 0};
  // Somebody holds it, and the daemon has no children.
  if (!has_children()) return {.via = Peer::Via::tcp, .whose = Whose::user, .uid = socket->uid};
  return holder_of(*socket);
}

}  // namespace reef::transport
