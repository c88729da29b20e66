// Who is at the other end of a connection: found out once, by the transport, and handed to the
// dispatch with every request. A value.
#pragma once

#include <cstdint>

namespace reef::protocol {

struct Peer {
  enum class Via : std::uint8_t { unix_socket, tcp };
  enum class Origin : std::uint8_t {
    user,     // a process of the user's, or whoever brought the token from another machine's user
    child,    // it came from this daemon: a tool, an MCP server, a command for a key
    unknown,  // which of both cannot be told; trusted no more than a child
  };
  Via via = Via::unix_socket;
  Origin origin = Origin::user;
  int pid = 0;  // for the log; 0: not known
  // A client of CrabTalk's that knows nothing of us: it has said neither Hello nor a request_id.
  bool legacy = false;
};

}  // namespace reef::protocol
