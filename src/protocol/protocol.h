// Table of contents of protocol/: the wire schema, and what every program needs that speaks it.
//
//   reef.proto   the messages (generated: protocol/reef.pb.h)
//   encoder.h    Encoder              writes messages without making objects of them
//   encoded.h    EncodedAnswer        answers that are written so
//   peer.h       Peer, Right          who asks, and what that peer may do
//   protocol.h   MessageStream, make_error, operation names
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/task.h"
#include "protocol/reef.pb.h"

namespace reef::protocol {

class EncodedAnswer;

inline constexpr std::uint32_t kVersion = 1;

// The answer to a request: messages, pulled one at a time by whoever sends them on, so that a slow
// reader slows only its own stream. Destroying it early means that the reader is gone.
class MessageStream {
 public:
  virtual ~MessageStream() = default;
  // nullopt after the last message.
  virtual Task<std::optional<ServerMessage>> next() = 0;
  // For transports that send bytes: this answer when it has its message in bytes (encoded.h), to be
  // asked for those instead. nullptr: it has not.
  virtual EncodedAnswer* encoded() { return nullptr; }
};
using Answer = std::unique_ptr<MessageStream>;

// An answer of one message, which is known already or made when asked for.
Answer answer_with(ServerMessage message);
Answer answer_with(Task<ServerMessage> message);
Answer answer_with(const reef::Error& error);
// Pong, or the error.
ServerMessage make_outcome(const Status& done);
Task<ServerMessage> pong_when_done(Task<Status> work);

ServerMessage make_error(const reef::Error& error);
ServerMessage make_pong();
reef::Error error_from(const Error& message);

// The variant's field name, for example "list_mcps"; empty when none is set.
std::string_view operation_name(const ClientMessage& message);

// False when the bytes are no such message.
bool parse(google::protobuf::MessageLite& message, std::string_view bytes);

// The library logs bad input to stderr unless told not to; our callers report it themselves.
void silence_library_log();

}  // namespace reef::protocol
