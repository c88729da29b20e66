// What a client sent to a server of ours: one message, or a batch of them. Pure function.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "rpc/message.h"

namespace reef::rpc {

inline constexpr std::size_t kBatchMax = 100;

struct Item {
  Message message;
  // Set when there is no message: it is to be sent back, with the message's id.
  std::optional<Refusal> refusal = {};
};

// The answers to a batch are one list without order; notifications and answers bring none, and
// when nothing is left to say, nothing is said. A text that is no JSON, an empty batch and one of
// more than `batch_max` messages are one refusal instead, outside a batch.
struct Received {
  bool batch = false;
  std::vector<Item> items = {};  // exactly one without a batch
};

// With a `batch_max` of 0, batches are refused.
Received take_apart(std::string_view text, std::size_t batch_max);

}  // namespace reef::rpc
