#include "client/connection.h"

#include <sys/socket.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>

#include "transport/unix_path.h"

namespace reef::client {
namespace asio = boost::asio;
using Protocol = asio::generic::stream_protocol;
namespace {

constexpr std::size_t kReadBytes = 64U << 10;
constexpr std::size_t kKeptBytesMax = 1U << 20;
// How many messages one slow reader may leave unread before the connection is not read any more.
constexpr std::size_t kInboxMessagesMax = 1024;

Task<void> close_after(std::chrono::milliseconds patience, Protocol::socket& socket, bool& late) {
  co_await sleep_for(patience);
  late = true;
  boost::system::error_code ignored;
  socket.close(ignored);
}

}  // namespace

Connection::Connection(Executor loop)
    : loop_(loop), socket_(loop), changed_(loop), tasks_(loop, "client") {}

Task<Result<std::shared_ptr<Connection>>> Connection::connect(Executor loop, Endpoint endpoint,
                                                              std::chrono::milliseconds timeout) {
  auto connection = std::make_shared<Connection>(loop);
  bool late = false;
  TaskGroup watch(loop, "connect");
  watch.spawn(close_after(timeout, connection->socket_, late));

  boost::system::error_code failed;
  std::string where = endpoint.unix_path;
  if (!endpoint.unix_path.empty()) {
    auto address = transport::unix_address(endpoint.unix_path);
    if (!address) {
      auto error = std::move(address).error().with("connect");
      if (error.code == Errc::not_found) error.code = Errc::unavailable;
      co_return error;
    }
    const asio::local::stream_protocol::endpoint at(address->path);
    co_await connection->socket_.async_connect(at,
                                               asio::redirect_error(asio::use_awaitable, failed));
  } else {
    const asio::ip::tcp::endpoint at(asio::ip::address_v4::loopback(), endpoint.tcp_port);
    where = fmt::format("127.0.0.1:{}", endpoint.tcp_port);
    co_await connection->socket_.async_connect(at,
                                               asio::redirect_error(asio::use_awaitable, failed));
    boost::system::error_code ignored;
    if (!failed) connection->socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
  }
  watch.cancel();
  co_await watch.join();
  if (late) co_return Error(Errc::timeout, "connect to " + where + ": no answer in time");
  if (failed) {
    auto error = sys_error(failed.value(), "connect to " + where);
    error.code = Errc::unavailable;
    co_return error;
  }
  connection->tasks_.spawn(connection->read_answers());
  co_return connection;
}

void Connection::close() {
  fail(Error(Errc::unavailable, "the connection was closed"));
}

void Connection::fail(Error error) {
  if (failure_) return;
  failure_ = std::move(error);
  boost::system::error_code ignored;
  socket_.close(ignored);
  changed_.notify_all();
}

std::shared_ptr<Inbox> Connection::expect(std::uint64_t id) {
  auto inbox = std::make_shared<Inbox>();
  inboxes_[id] = inbox;
  return inbox;
}

void Connection::forget(std::uint64_t id) {
  inboxes_.erase(id);
  changed_.notify_all();
}

Task<Status> Connection::write(const protocol::ClientMessage& message) {
  const auto self = shared_from_this();
  const auto bytes = message.ByteSizeLong();
  if (bytes > transport::kFramePayloadBytesMax)
    co_return Error(Errc::too_large, fmt::format("the request has {} bytes, at most {} can be sent",
                                                 bytes, transport::kFramePayloadBytesMax));
  const auto frame = transport::make_frame(message.SerializeAsString());
  while (writing_) co_await changed_.wait();
  if (failure_) co_return *failure_;
  writing_ = true;
  boost::system::error_code failed;
  co_await asio::async_write(socket_, asio::buffer(frame),
                             asio::redirect_error(asio::use_awaitable, failed));
  writing_ = false;
  changed_.notify_all();
  // The daemon may have said why it hung up; the reader will find it.
  if (failed && failure_) co_return *failure_;
  co_return Ok{};
}

Task<Result<protocol::ServerMessage>> Connection::next(std::shared_ptr<Inbox> inbox,
                                                       std::chrono::milliseconds timeout) {
  const auto self = shared_from_this();
  const auto deadline = steady_now(loop_) + timeout;
  while (inbox->messages.empty() && !failure_) {
    if (timeout.count() == 0) {
      co_await changed_.wait();
      continue;
    }
    if (steady_now(loop_) >= deadline)
      co_return Error(Errc::timeout,
                      fmt::format("the daemon did not answer in {} ms", timeout.count()));
    static_cast<void>(co_await changed_.wait_until(deadline));
  }
  if (inbox->messages.empty()) co_return *failure_;
  auto message = std::move(inbox->messages.front());
  inbox->messages.pop_front();
  if (inbox->messages.size() + 1 == kInboxMessagesMax) changed_.notify_all();
  co_return message;
}

Task<void> Connection::read_answers() {
  const auto self = shared_from_this();
  // Answers are often large, and there is only one connection to keep memory for.
  transport::FrameReader frames(kKeptBytesMax);
  std::string buffer(kReadBytes, '\0');
  while (!failure_) {
    boost::system::error_code failed;
    const auto got = co_await socket_.async_read_some(
        asio::buffer(buffer), asio::redirect_error(asio::use_awaitable, failed));
    if (failed) {
      fail(Error(Errc::unavailable, "the daemon closed the connection"));
      co_return;
    }
    frames.feed(std::string_view(buffer).substr(0, got));
    for (;;) {
      auto payload = frames.next();
      protocol::ServerMessage message;
      if (payload && !*payload) break;
      if (!payload || !protocol::parse(message, **payload)) {
        fail(Error(Errc::unavailable, "the daemon sent something that is not a message"));
        co_return;
      }
      if (!message.has_request_id()) {
        // Only a refusal of the whole connection comes without an id.
        if (message.has_error()) fail(protocol::error_from(message.error()));
        continue;
      }
      const auto found = inboxes_.find(message.request_id());
      if (found == inboxes_.end()) continue;  // nobody waits for it any more
      const auto inbox = found->second;
      const auto id = message.request_id();
      inbox->messages.push_back(std::move(message));
      changed_.notify_all();
      while (inbox->messages.size() >= kInboxMessagesMax && inboxes_.contains(id) && !failure_)
        co_await changed_.wait();
    }
  }
}

}  // namespace reef::client
