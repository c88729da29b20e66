// Answers that are written as bytes, because objects of them would cost more than the work behind
// them. Nobody has to know: read by next() they are messages like all others, parsed from those
// very bytes. Only a transport that sends bytes on asks for them.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "protocol/protocol.h"

namespace reef::protocol {

// The messages that are written so, and no others; each is held against the generated code with
// random contents (server.SearchAnswer).
inline constexpr std::array kWrittenAsBytes = {ServerMessage::kSearchResults,
                                               ServerMessage::kMessageList};

// A ServerMessage of which one variant is set.
struct Encoded {
  ServerMessage::MsgCase kind = ServerMessage::MSG_NOT_SET;
  std::string bytes;  // of the variant's message
};

// The whole message; an error when the bytes are not what their kind says.
ServerMessage parse(const Encoded& encoded);

// An answer of one message that is made when asked for.
class EncodedAnswer final : public MessageStream {
 public:
  explicit EncodedAnswer(Task<Result<Encoded>> task) : task_(std::move(task)) {}

  Task<std::optional<ServerMessage>> next() override;
  EncodedAnswer* encoded() override { return this; }
  // The same as next(), in its bytes; nullopt after the message.
  Task<std::optional<Result<Encoded>>> next_bytes();

 private:
  std::optional<Task<Result<Encoded>>> task_;
};

}  // namespace reef::protocol
