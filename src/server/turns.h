// Turns as clients begin them and read along with them.
#pragma once

#include <string>

#include "protocol/peer.h"
#include "protocol/protocol.h"
#include "runtime/event.h"

namespace reef::runtime {
class Runtime;
}

namespace reef::server {

struct Node;

class Entrance;

struct TurnsNeeds {
  runtime::Runtime& runtime;
  Entrance& entrance;
  static TurnsNeeds of(const Node& node);
};

// Sends a turn's events as they come; plans are carried out that way too.
protocol::Answer answer_stream(TurnsNeeds needs, const protocol::Stream& request,
                               const protocol::Peer& peer = {}, const std::string& client_id = {});
void fill(protocol::StreamEvent& out, runtime::Event event);
void fill(protocol::ContextUsage& out, const runtime::ContextUsage& usage);

}  // namespace reef::server
