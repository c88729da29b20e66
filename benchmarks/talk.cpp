#include "talk.h"

#include <cerrno>
#include <cstring>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <fmt/format.h>

#include "base/task_group.h"
#include "process.h"
#include "transport/frame.h"
#include "transport/unix_path.h"

namespace reef::benchmarks {
namespace {

// Longer than any turn here, so that a hanging daemon does not hang the benchmark.
constexpr std::chrono::milliseconds kPatience{20'000};
// Has as many bytes as the ids in a long run.
constexpr std::uint64_t kRequestId = 10'000;

Task<void> keep(Task<Status> task, Status& outcome) {
  outcome = co_await std::move(task);
}

Task<void> talk_alone(client::Client& client, std::string name, int conversations, int turns,
                      Status& outcome) {
  for (int i = 0; i < conversations; ++i) {
    const auto sender = fmt::format("{}-{}", name, i);
    for (int turn = 0; turn < turns; ++turn) {
      const auto times = co_await take_turn(client, sender);
      if (!times) {
        outcome = times.error();
        co_return;
      }
    }
  }
}

}  // namespace

Status run_on_loop(const std::function<Task<Status>(Executor)>& body) {
  boost::asio::io_context io(1);
  Status outcome = Error(Errc::internal, "the measurement ended by an exception");
  TaskGroup main(io.get_executor(), "bench");
  main.spawn(keep(body(io.get_executor()), outcome));
  io.run();
  return outcome;
}

client::Endpoint endpoint_of(const daemon::Home& home) {
  client::Endpoint endpoint;
  endpoint.unix_path = home.socket();
  return endpoint;
}

Task<Result<TurnTimes>> take_turn(client::Client& client, std::string sender) {
  client::TurnRequest turn;
  turn.agent = kAgent;
  turn.sender = std::move(sender);
  turn.content = kUserText;
  REEF_CO_CHECK(check_interrupted());
  const auto began = now();
  REEF_CO_TRY(auto stream, co_await client.stream(std::move(turn)));
  std::optional<Nanos> first_chunk;
  for (;;) {
    REEF_CO_TRY(const auto message, co_await stream.next(kPatience));
    if (!message) co_return Error(Errc::unavailable, "the turn ended without `end`");
    if (!first_chunk && message->stream().has_chunk()) first_chunk = now() - began;
    if (!message->stream().has_end()) continue;
    const auto& end = message->stream().end();
    if (!end.error().empty()) co_return Error(Errc::provider, "a turn failed: " + end.error());
    if (!first_chunk) co_return Error(Errc::unavailable, "the turn ended without a chunk");
    co_return TurnTimes{*first_chunk, now() - began};
  }
}

Clients::Clients(Executor loop, const daemon::Home& home, std::size_t count) : loop_(loop) {
  for (std::size_t i = 0; i < count; ++i)
    clients_.push_back(std::make_unique<client::Client>(loop, endpoint_of(home)));
}

Task<Status> Clients::connect() {
  for (const auto& client : clients_) REEF_CO_CHECK(co_await client->connect());
  co_return Ok{};
}

void Clients::close() {
  for (const auto& client : clients_) client->close();
}

Task<Result<Nanos>> Clients::talk(std::string name, int conversations, int turns) {
  Status outcome = Ok{};
  TaskGroup group(loop_, "talk");
  const auto began = now();
  for (std::size_t i = 0; i < clients_.size(); ++i)
    group.spawn(
        talk_alone(*clients_[i], fmt::format("{}-{}", name, i), conversations, turns, outcome));
  co_await group.join();
  const auto took = now() - began;
  if (!outcome) co_return std::move(outcome).error();
  co_return took;
}

Result<PlainConnection> PlainConnection::connect(const daemon::Home& home) {
  REEF_TRY(const auto address, transport::unix_address(home.socket()));
  sockaddr_un to = {};
  to.sun_family = AF_UNIX;
  std::memcpy(to.sun_path, address.path.data(), address.path.size());
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd || ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0)
    return sys_error(errno, "connect to " + home.socket());
  return PlainConnection(std::move(fd));
}

Result<std::string_view> PlainConnection::ask(std::string_view frame) {
  if (::write(fd_.get(), frame.data(), frame.size()) != static_cast<ssize_t>(frame.size()))
    return sys_error(errno, "send a frame");
  for (;;) {
    REEF_TRY(const auto payload, frames_.next());
    if (payload) return *payload;
    const auto got = ::read(fd_.get(), buffer_.data(), buffer_.size());
    if (got <= 0) return sys_error(got == 0 ? ECONNRESET : errno, "receive a frame");
    frames_.feed(std::string_view(buffer_).substr(0, static_cast<std::size_t>(got)));
  }
}

Status PlainConnection::exchange(std::string_view frame) {
  REEF_TRY(const auto payload, ask(frame));
  static_cast<void>(payload);
  return Ok{};
}

std::string ping_frame() {
  protocol::ClientMessage message;
  message.mutable_ping();
  message.set_request_id(kRequestId);
  return transport::make_frame(message.SerializeAsString());
}

}  // namespace reef::benchmarks
