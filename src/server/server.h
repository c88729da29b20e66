// Table of contents of server/: one request in, a stream of answers out, whatever the transport.
//
//   server.h      dispatch, Node          this file
//   turns.cpp     send, stream, kill
//   node.cpp      hello, ping, stats, reload, shutdown, and what is gone
//   sessions.cpp  list_sessions, read_session
//
// Loop thread only.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "protocol/protocol.h"
#include "runtime/runtime.h"
#include "session/session.h"

namespace reef::server {

// What the operations act on; everything must outlive the answers.
struct Node {
  runtime::Runtime& runtime;
  session::Sessions& sessions;
  session::Store& store;
  // The daemon's own matters.
  std::function<Task<Status>()> reload;
  std::function<void()> shutdown;
  std::function<void(protocol::Stats&)> fill_stats;
};

protocol::Answer dispatch(Node& node, protocol::ClientMessage message);

// The groups; each is given a message of one of its variants.
protocol::Answer answer_send(Node& node, const protocol::Send& request);
protocol::Answer answer_stream(Node& node, const protocol::Stream& request);
protocol::Answer answer_kill(Node& node, const protocol::Kill& request);
protocol::Answer answer_hello(const protocol::Hello& request);
protocol::Answer answer_stats(Node& node);
protocol::Answer answer_reload(Node& node);
protocol::Answer answer_shutdown(Node& node);
protocol::Answer answer_gone(const protocol::ClientMessage& request);
protocol::Answer answer_list_sessions(Node& node);
protocol::Answer answer_read_session(Node& node, const protocol::ReadSession& request);

}  // namespace reef::server
