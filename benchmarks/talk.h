// Talking to the daemon under measurement, through the client library and without it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "base/task.h"
#include "client/client.h"
#include "daemon/home.h"
#include "measure.h"
#include "transport/frame.h"

namespace reef::benchmarks {

inline constexpr std::string_view kAgent = "bench";
// About as long as the entries of a chat; both become lines of some 300 bytes.
inline constexpr std::string_view kUserText =
    "Where did we leave the question of the tide tables yesterday, and what was still open about "
    "the harbour at low water?";
inline constexpr std::string_view kReplyText =
    "We had agreed to trust the older table and to measure once more at the pier.";

// Runs one task on a new loop and returns its result.
Status run_on_loop(const std::function<Task<Status>(Executor)>& body);

client::Endpoint endpoint_of(const daemon::Home& home);

struct TurnTimes {
  Nanos first_chunk;  // from before the request is made
  Nanos whole;        // to `end`
};
// Takes one streamed turn in the conversation of `sender`.
Task<Result<TurnTimes>> take_turn(client::Client& client, std::string sender);

// A number of clients, each with its own connection.
class Clients {
 public:
  Clients(Executor loop, const daemon::Home& home, std::size_t count);
  Task<Status> connect();
  void close();

  // Every client takes `turns` turns in each of its own `conversations` conversations, one after
  // the other; all clients run at the same time. Returns the total time.
  Task<Result<Nanos>> talk(std::string name, int conversations, int turns);

 private:
  Executor loop_;
  std::vector<std::unique_ptr<client::Client>> clients_;
};

// A connection without the client library: blocking, one request at a time.
class PlainConnection {
 public:
  static Result<PlainConnection> connect(const daemon::Home& home);

  // Writes a frame and waits for one. The payload is valid until the next call.
  Result<std::string_view> ask(std::string_view frame);
  Status exchange(std::string_view frame);

 private:
  static constexpr std::size_t kReadBytes = 256U << 10;
  explicit PlainConnection(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
  transport::FrameReader frames_{std::size_t{1} << 20};
  std::string buffer_ = std::string(kReadBytes, '\0');
};

// Returns the bytes of a Ping as the client library sends it.
std::string ping_frame();

}  // namespace reef::benchmarks
