// One connection to the daemon: sends requests and hands the answers to those who wait for them.
// Its reader task keeps it alive until the connection ends. Loop thread only.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/generic/stream_protocol.hpp>

#include "base/notify.h"
#include "base/result.h"
#include "base/task_group.h"
#include "client/client.h"
#include "protocol/protocol.h"
#include "transport/frame.h"

namespace reef::client {

struct Inbox {
  std::deque<protocol::ServerMessage> messages;
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  static Task<Result<std::shared_ptr<Connection>>> connect(Executor loop, Endpoint endpoint,
                                                           std::chrono::milliseconds timeout);
  explicit Connection(Executor loop);

  bool broken() const { return failure_.has_value(); }
  const Error& failure() const { return *failure_; }
  void close();

  std::shared_ptr<Inbox> expect(std::uint64_t id);
  void forget(std::uint64_t id);
  std::uint64_t fresh_id() { return ++last_id_; }
  Task<Status> write(const protocol::ClientMessage& message);
  // Waits for the next message; see Stream::next.
  Task<Result<protocol::ServerMessage>> next(std::shared_ptr<Inbox> inbox,
                                             std::chrono::milliseconds timeout);

 private:
  Task<void> read_answers();
  void fail(Error error);

  Executor loop_;
  boost::asio::generic::stream_protocol::socket socket_;
  std::map<std::uint64_t, std::shared_ptr<Inbox>> inboxes_;
  std::uint64_t last_id_ = 0;
  std::optional<Error> failure_;
  bool writing_ = false;
  Notify changed_;
  TaskGroup tasks_;
};

}  // namespace reef::client
