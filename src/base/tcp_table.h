// Finds the owners of TCP sockets in the kernel's table (/proc/net/tcp). Blocks for the time it
// takes to read; any thread.
#pragma once

#include <cstdint>
#include <optional>

namespace reef {

struct TcpSocket {
  unsigned long inode = 0;  // 0: nobody holds it any more
  unsigned uid = 0;
};

// Finds one end of a connection within 127.0.0.1, by its own port and the other's; also when the
// socket was made for IPv6.
std::optional<TcpSocket> loopback_socket(std::uint16_t port, std::uint16_t other_port);

// Whether somebody listens on this port of 127.0.0.1, and it is our own user or root.
bool listener_is_ours(std::uint16_t port);

}  // namespace reef
