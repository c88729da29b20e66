// The files of Peer share this. For them only.
#pragma once

#include "base/utf8.h"
#include "mcp/peer.h"

namespace reef::mcp {

// How long a server has for a request that only sets something.
inline constexpr std::chrono::milliseconds kSettingPatience{10'000};
inline constexpr std::size_t kAsksMax = 32;  // questions from the server that may wait at once
inline constexpr std::size_t kSaidBytesMax = 500;

// The owner of running calls. Its tasks answer the server's questions: a question need not name its
// call, so it lives as long as any of the owner's calls.
struct Peer::Owner {
  explicit Owner(const Executor& loop) : questions(loop, "mcp questions") {}

  std::size_t asking = 0;  // questions that wait for the user
  TaskGroup questions;
};

// A request waiting for its answer.
struct Peer::Pending : rpc::Call {
  Pending(const Executor& loop, std::int64_t id, rpc::Patience patience, CallOptions with,
          std::shared_ptr<Owner> whose)
      : Call(loop, id, patience), options(std::move(with)), owner(std::move(whose)) {}

  const CallOptions options;
  const std::shared_ptr<Owner> owner;
};

}  // namespace reef::mcp
