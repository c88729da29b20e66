// The kernel's table of TCP sockets (/proc/net/tcp): whose they are. Blocks for the time it takes
// to read; any thread.
#pragma once

#include <cstdint>
#include <optional>

namespace reef {

struct TcpSocket {
  unsigned long inode = 0;  // 0: nobody holds it any more
  unsigned uid = 0;
};

// One end of a connection within 127.0.0.1, by its own port and the other's; also of sockets made
// for IPv6.
std::optional<TcpSocket> loopback_socket(std::uint16_t port, std::uint16_t other_port);

// Whether who listens on this port of 127.0.0.1 is our own user or root, and somebody does.
bool listener_is_ours(std::uint16_t port);

}  // namespace reef
