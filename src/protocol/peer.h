// The other end of a connection: found out once, by the transport, and handed to the dispatch with
// every request. A value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace reef::protocol {

// The rights of a peer; each includes those before it. The table of operations says which one an
// operation needs.
enum class Right : std::uint8_t {
  none,    // any peer that is let in
  read,    // looks into all conversations
  answer,  // speaks as the user: sends words, answers questions, ends what runs
  admin,   // changes sessions, agents, settings, memory; grants, imports, stops the daemon
};

constexpr std::string_view name_of(Right right) {
  constexpr std::string_view kNames[] = {"none", "read", "answer", "admin"};
  return kNames[static_cast<std::size_t>(right)];
}

struct Peer {
  enum class Via : std::uint8_t { unix_socket, tcp };
  enum class Whose : std::uint8_t {
    user,     // a process of the user's, or one of another user's that brought the token
    daemon,   // it came from this daemon: a tool, an MCP server, a command for a key
    unknown,  // it may be either; trusted no more than the daemon's own
  };
  Via via = Via::unix_socket;
  Whose whose = Whose::user;
  int pid = 0;  // for the log; 0: not known
  // Who it is, as far as that is proven: the user of its process, which the kernel tells, and that
  // it has shown the token of this transport.
  std::optional<std::uint32_t> uid = {};
  bool token = false;
  // The sender it speaks for where a request names neither a sender nor a conversation.
  std::string sender = "user";
  // A client of CrabTalk's that does not know Reef: it has sent neither Hello nor a request_id.
  bool legacy = false;
  Right right = Right::admin;  // the right that the user gave this client
};

constexpr std::string_view name_of(Peer::Via via) {
  return via == Peer::Via::tcp ? "tcp" : "unix";
}

// The user's own clients have the right they were given; a process that came from the daemon itself
// may do nothing as the user.
constexpr Right right_of(const Peer& peer) {
  return peer.whose == Peer::Whose::user ? peer.right : Right::none;
}

}  // namespace reef::protocol
