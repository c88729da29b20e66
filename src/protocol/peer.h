// Who is at the other end of a connection, handed to the dispatch with every request. A value.
#pragma once

namespace reef::protocol {

struct Peer {
  // A client of CrabTalk's that knows nothing of us: it has said neither Hello nor a request_id.
  bool legacy = false;
};

}  // namespace reef::protocol
