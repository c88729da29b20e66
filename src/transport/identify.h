// Finds out who connected: whether a process is one of the daemon's own children, which may hold
// every secret the user can read and are still not the user (docs/permissions.md).
#pragma once

#include <cstdint>

#include "protocol/peer.h"

namespace reef::transport {

// Of an accepted Unix socket. Some microseconds: it is asked at once, before the peer can change.
protocol::Peer unix_peer(int fd);

// Of a connection to 127.0.0.1: `port` there, `peer_port` here. A peer must be found among the
// processes that hold its socket, and be none of our children, whatever user it has become; only
// another user's, which may not be looked into, is believed as long as no child hides in the same
// way. Looks through /proc, some milliseconds: for the pool. Finding nobody, or who found somebody,
// stays true however late it is asked: no child can make another process hold its socket.
protocol::Peer tcp_peer(std::uint16_t port, std::uint16_t peer_port);

}  // namespace reef::transport
