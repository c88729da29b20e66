// Finds out who connected: whether a process is one of the daemon's own children, which may hold
// every secret the user can read and are still not the user (docs/permissions.md).
#pragma once

#include <cstdint>

#include "protocol/peer.h"

namespace reef::transport {

// The peer of an accepted Unix socket. Takes microseconds: ask at once, before the peer can change.
protocol::Peer unix_peer(int fd);

// The peer of a connection to 127.0.0.1: `port` is the daemon's, `peer_port` the peer's. A process
// must be found that holds the peer's socket, and none that does may be our child, whatever user it
// has become. A process of another user, which may not be looked into, is believed unseen as long
// as no child hides in the same way. Looks through /proc for some milliseconds: for the pool. The
// answer stays true however late it is asked: no child can make another process hold its socket.
protocol::Peer tcp_peer(std::uint16_t port, std::uint16_t peer_port);

}  // namespace reef::transport
