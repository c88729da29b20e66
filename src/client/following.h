// Something that is followed over lost connections: rows of a list, entries of a session, tasks,
// decisions.
// When the connection breaks it is asked for again with the cursor of the last answer, so the
// answers are the same as if it had not, or begin with a start_over. Loop thread of the caller.
#pragma once

#include <optional>
#include <string>

#include "base/loop_time.h"
#include "client/client.h"

namespace reef::client {

// Returns the place an answer names; nullptr: it is no answer of the Follow operations.
const protocol::Place* place_in(const protocol::ServerMessage& message);

class Following {
 public:
  // `request` is one of the Follow operations with a cursor, which may be empty. The client must
  // outlive it.
  Following(Client& client, protocol::ClientMessage request,
            std::chrono::milliseconds patience = std::chrono::seconds(30))
      : client_(client), request_(std::move(request)), patience_(patience) {}

  // The next answer, however long it takes; nullopt when nothing follows. An error of the daemon's
  // ends it, and so does a daemon that was there and does not come back within `patience`.
  Task<Result<std::optional<protocol::ServerMessage>>> next();
  // The cursor of the last answer, for a later Following.
  const std::string& cursor() const { return cursor_; }

 private:
  std::string& cursor_field();

  Client& client_;
  protocol::ClientMessage request_;
  std::chrono::milliseconds patience_;
  std::optional<Moment> lost_at_;
  std::string cursor_;
  std::optional<Stream> stream_;
  bool ended_ = false;
};

}  // namespace reef::client
