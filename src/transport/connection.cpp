#include "transport/connection.h"

#include <poll.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <fmt/format.h>
#include <openssl/crypto.h>

#include "base/log.h"
#include "protocol/encoded.h"
#include "protocol/encoder.h"

namespace reef::transport {
namespace asio = boost::asio;
namespace {

constexpr std::size_t kReadBytes = 64U << 10;
// Requests that wait for their turn may hold this much; with more, the connection is not read.
constexpr std::size_t kInOrderBytesMax = kFramePayloadBytesMax;
constexpr std::size_t kInOrderMax = 64;
constexpr std::size_t kAsidesMax = 64;
// A peer may send so much before it has shown its token, and take so long.
constexpr std::size_t kHelloBytesMax = 4096;
constexpr std::chrono::seconds kHelloMax{5};
// How long an error that ends a connection may take to be delivered.
constexpr std::chrono::milliseconds kFarewell{2'000};

// A message about a running turn is answered beside it on the same connection, as with CrabTalk.
bool must_not_wait(const protocol::ClientMessage& message) {
  using M = protocol::ClientMessage;
  switch (message.msg_case()) {
    case M::kPing:
    case M::kKill:
    case M::kCancelStream:
    case M::kReplyToAsk:
    case M::kReplyToTool:
    case M::kSteerSession:
      return true;
    default:
      return false;
  }
}

bool same_token(const std::string& a, const std::string& b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

// An answer that does not fit becomes an error that says so.
std::string frame_of_too_large(std::size_t bytes, std::optional<std::uint64_t> request) {
  auto error = protocol::make_error(
      Error(Errc::too_large, fmt::format("the answer has {} bytes, a frame holds at most {}", bytes,
                                         kFramePayloadBytesMax)));
  if (request) error.set_request_id(*request);
  return make_frame(error.SerializeAsString());
}

std::string frame_of(const protocol::ServerMessage& message) {
  const auto bytes = message.ByteSizeLong();
  if (bytes > kFramePayloadBytesMax)
    return frame_of_too_large(
        bytes, message.has_request_id() ? std::optional(message.request_id()) : std::nullopt);
  auto frame = start_frame(bytes);
  message.SerializeWithCachedSizesToArray(
      reinterpret_cast<std::uint8_t*>(frame.data() + kFrameHeaderBytes));
  return frame;
}

// The same of a message whose variant is there in bytes.
std::string frame_of(const protocol::Encoded& variant, std::optional<std::uint64_t> request) {
  protocol::ServerMessage envelope;
  if (request) envelope.set_request_id(*request);
  auto head = envelope.SerializeAsString();
  protocol::Encoder(head).start(variant.kind, variant.bytes.size());
  const auto bytes = head.size() + variant.bytes.size();
  if (bytes > kFramePayloadBytesMax) return frame_of_too_large(bytes, request);
  auto frame = start_frame(bytes);
  head.copy(frame.data() + kFrameHeaderBytes, head.size());
  variant.bytes.copy(frame.data() + kFrameHeaderBytes + head.size(), variant.bytes.size());
  return frame;
}

}  // namespace

Connection::Connection(Socket socket, Handler handler, Options options)
    : socket_(std::move(socket)),
      handler_(std::move(handler)),
      options_(std::move(options)),
      authorized_(options_.token.empty()),
      time_(LoopTime::of(socket_.get_executor())),
      accepted_(time_.now()),
      free_(accepted_),
      share_(options_.budget),
      changed_(socket_.get_executor()),
      tasks_(socket_.get_executor(), options_.name) {}

Task<void> Connection::serve() {
  boost::system::error_code failed;
  if (!authorized_) reader_.set_payload_bytes_max(kHelloBytesMax);
  socket_.non_blocking(true, failed);
  tasks_.spawn(write_frames());
  try {
    co_await read_requests();
  } catch (const std::exception& error) {
    // Usually memory is exhausted. The tasks below refer to this object and must end first.
    log::error("{}: closed: {}", options_.name, error.what());
    broken_ = true;
  }
  changed_.notify_all();

  // The peer may have closed its side only: its requests are still answered.
  reading_ = false;
  while (!broken_ && !settled() && !peer_is_gone()) co_await changed_.wait();

  close();
  tasks_.cancel();
  co_await tasks_.join();
  boost::system::error_code ignored;
  socket_.close(ignored);
}

bool Connection::settled() const {
  return numbered_ == 0 && asides_ == 0 && !answering_ && in_order_.empty() && send_queue_.empty();
}

bool Connection::peer_is_gone() {
  // Over TCP a client that has left and one that closed its side look the same. CrabTalk's clients
  // never close one side alone, and want their turn to end with them; one that runs tools would
  // have to say more.
  if (!reading_ && options_.peer.via == protocol::Peer::Via::tcp &&
      ((legacy_ && streaming_) || bring_tools_ > 0))
    return true;
  struct pollfd state = {socket_.native_handle(), 0, 0};
  return ::poll(&state, 1, 0) > 0 && (state.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
}

Task<void> Connection::read_requests() {
  // Shared by all connections of this thread: nothing suspends between filling and emptying it.
  static thread_local std::string buffer(kReadBytes, '\0');
  for (;;) {
    while (!broken_ && (in_order_.size() >= kInOrderMax || in_order_bytes_ >= kInOrderBytesMax))
      co_await changed_.wait();
    if (broken_) co_return;

    boost::system::error_code failed;
    co_await socket_.async_wait(Socket::wait_read,
                                asio::redirect_error(asio::use_awaitable, failed));
    if (failed) co_return;
    // A connection amid a large frame waits for its turn; a small frame is read at once.
    while (!broken_ && share_.holds() && !share_.may_grow()) {
      held_back_ = true;
      co_await share_.wait();
    }
    held_back_ = false;
    if (broken_) co_return;
    const auto room = share_.may_grow() ? buffer.size() : FrameBudget::kSmall;
    const auto got = socket_.read_some(asio::buffer(buffer.data(), room), failed);
    if (failed == asio::error::would_block || failed == asio::error::try_again) continue;
    if (failed == asio::error::eof) {
      if (reader_.unfinished() > 0)
        co_await refuse(Error(Errc::invalid, "the connection ended in the middle of a frame"));
      co_return;
    }
    if (failed) co_return;
    came_ = time_.now();
    reader_.feed(std::string_view(buffer).substr(0, got));
    for (;;) {
      auto payload = reader_.next();
      if (!payload) {
        co_await refuse(std::move(payload).error());
        co_return;
      }
      if (!*payload) break;
      const bool go_on = co_await take(**payload);
      if (!go_on) co_return;
    }
    share_.hold(reader_.unfinished());
  }
}

Task<bool> Connection::take(std::string_view payload) {
  protocol::ClientMessage message;
  if (!protocol::parse(message, payload)) {
    co_await refuse(Error(Errc::invalid, "the frame is not a valid ClientMessage"));
    co_return false;
  }
  if (!authorized_) {
    if (!message.has_hello() || !same_token(message.hello().token(), options_.token)) {
      co_await refuse(Error(Errc::unauthorized,
                            "this transport needs Hello with the token from run/token first"));
      co_return false;
    }
    authorized_ = true;
    reader_.set_payload_bytes_max(kFramePayloadBytesMax);
  }
  if (const auto identify = std::exchange(options_.identify, nullptr))
    options_.peer = co_await identify();
  options_.peer.token = !options_.token.empty();
  if (message.has_request_id() || message.has_hello()) legacy_ = false;
  if (!message.has_request_id() && answering_ && must_not_wait(message)) {
    // Each of them is answered at once, so there is soon room for the next.
    while (!broken_ && asides_ >= kAsidesMax) co_await changed_.wait();
    if (broken_) co_return false;
    ++asides_;
    tasks_.spawn(answer_aside(std::move(message), asides_));
    co_return true;
  }
  if (!message.has_request_id()) {
    // A request that is answered at once waits for nothing.
    const auto waits = answering_ ? payload.size() : 0;
    const bool room = share_.queue(waits);
    if (!room) message.Clear();
    in_order_bytes_ += room ? waits : 0;
    in_order_.push_back(Request{std::move(message), room ? waits : 0, !room});
    if (!answering_) {
      answering_ = true;
      tasks_.spawn(answer_in_order());
    }
    co_return true;
  }
  if (numbered_ >= options_.limits.requests_in_flight_max) {
    co_await send(
        protocol::make_error(Error(
            Errc::busy, fmt::format("{} requests are in flight on this connection", numbered_))),
        message.request_id());
    co_return true;
  }
  ++numbered_;
  tasks_.spawn(answer_aside(std::move(message), numbered_));
  co_return true;
}

Task<void> Connection::answer_in_order() {
  while (!in_order_.empty() && !broken_) {
    auto request = std::move(in_order_.front());
    in_order_.pop_front();
    in_order_bytes_ -= request.bytes;
    share_.unqueue(request.bytes);
    if (request.refused) {
      auto busy = Error(Errc::busy, fmt::format("requests that wait for their turn hold {} MiB",
                                                FrameBudget::kBytesMax >> 20));
      co_await send(protocol::make_error(std::move(busy)), std::nullopt);
    } else {
      streaming_ = request.message.has_stream();
      co_await answer(std::move(request.message));
      streaming_ = false;
    }
    changed_.notify_all();
  }
  answering_ = false;
  changed_.notify_all();
}

Task<void> Connection::answer_aside(protocol::ClientMessage message, std::size_t& under_way) {
  co_await answer(std::move(message));
  --under_way;
  changed_.notify_all();
}

Task<void> Connection::answer(protocol::ClientMessage message) {
  std::optional<std::uint64_t> request;  // the id that all answers repeat
  if (message.has_request_id()) request = message.request_id();
  struct Counted {
    std::size_t& count;
    const std::size_t one;
    ~Counted() { count -= one; }
  } const counted{bring_tools_, message.stream().tools_size() > 0 ? 1U : 0U};
  bring_tools_ += counted.one;
  std::optional<Error> failure;
  try {
    options_.peer.legacy = legacy_;
    const auto stream = handler_(options_.peer, std::move(message));
    auto* encoded = stream->encoded();
    while (encoded && !broken_) {
      const auto next = co_await encoded->next_bytes();
      if (!next) co_return;
      if (*next) {
        co_await send_frame(frame_of(**next, request));
      } else {
        co_await send(protocol::make_error(next->error()), request);
      }
    }
    while (!broken_) {
      auto next = co_await stream->next();
      if (!next) co_return;
      co_await send(std::move(*next), request);
    }
  } catch (const boost::system::system_error&) {
    throw;  // cancelled: the connection is closing
  } catch (const std::exception& error) {
    failure = Error(Errc::internal, std::string("the request failed: ") + error.what());
  }
  if (!failure) co_return;
  log::error("{}: {}", options_.name, failure->what);
  co_await send(protocol::make_error(*failure), request);
}

Task<void> Connection::send(protocol::ServerMessage message, std::optional<std::uint64_t> request) {
  if (request) message.set_request_id(*request);
  co_await send_frame(frame_of(message));
}

Task<void> Connection::send_frame(std::string frame) {
  const auto full = [&] {
    return !send_queue_.empty() &&
           (send_queue_.size() >= options_.limits.send_queue_messages_max ||
            send_bytes_ + frame.size() > options_.limits.send_queue_bytes_max);
  };
  while (!broken_ && full()) co_await changed_.wait();
  if (!broken_) push(std::move(frame));
}

void Connection::push(std::string frame) {
  if (send_queue_.empty()) progress_ = time_.now();
  send_bytes_ += frame.size();
  send_queue_.push_back(std::move(frame));
  changed_.notify_all();
}

Task<void> Connection::write_frames() {
  while (!broken_) {
    if (send_queue_.empty()) {
      co_await changed_.wait();
      continue;
    }
    // Small frames go out together, a large one by itself.
    std::string batch;
    std::size_t frames = 0;
    for (const auto& frame : send_queue_) {
      if (batch.size() + frame.size() > kReadBytes) break;
      batch += frame;
      ++frames;
    }
    const std::string large = frames == 0 ? std::move(send_queue_.front()) : std::string();
    std::string_view rest = frames == 0 ? large : batch;
    while (!rest.empty()) {
      boost::system::error_code failed;
      const auto sent =
          co_await socket_.async_write_some(asio::buffer(rest.data(), rest.size()),
                                            asio::redirect_error(asio::use_awaitable, failed));
      if (failed || broken_) {
        close();
        co_return;
      }
      progress_ = time_.now();
      rest.remove_prefix(sent);
    }
    if (frames == 0) {
      send_bytes_ -= large.size();
      send_queue_.pop_front();
    }
    for (; frames > 0; --frames) {
      send_bytes_ -= send_queue_.front().size();
      send_queue_.pop_front();
    }
    changed_.notify_all();
  }
}

void Connection::close() {
  broken_ = true;
  boost::system::error_code ignored;
  socket_.shutdown(Socket::shutdown_both, ignored);
  changed_.notify_all();
  share_.nudge();
}

void Connection::check_progress(Moment now) {
  if (broken_) return;
  if (!authorized_ && now - accepted_ > kHelloMax) {
    log::warn("{}: disconnected: no Hello in time", options_.name);
    close();
    return;
  }
  // While nothing is read, only this check notices that the peer has left.
  if (peer_is_gone()) {
    close();
    return;
  }
  if (share_.holds() && !held_back_ && now - came_ >= options_.limits.stall_max) {
    log::warn("{}: disconnected: a frame that was begun did not go on for {} ms", options_.name,
              options_.limits.stall_max.count());
    close();
    return;
  }
  // A frame that comes byte by byte could take for ever and keep others' large frames waiting.
  if (!share_.is_waited_for()) free_ = now;
  if (now - free_ >= options_.limits.stall_max) {
    log::warn("{}: disconnected: a frame that others wait for did not come to its end in {} ms",
              options_.name, options_.limits.stall_max.count());
    close();
    return;
  }
  if (send_queue_.empty() || now - progress_ < options_.limits.stall_max) return;
  log::warn("{}: disconnected: the client took nothing for {} ms while {} bytes waited",
            options_.name, options_.limits.stall_max.count(), send_bytes_);
  close();
}

Task<void> Connection::refuse(Error error) {
  log::info("{}: refused: {}", options_.name, error.what);
  // Queued behind the answers promised before, so that frames are never mixed.
  push(make_frame(protocol::make_error(error).SerializeAsString()));
  const auto over = [this] { return broken_ || send_queue_.empty(); };
  static_cast<void>(co_await changed_.wait_for(kFarewell, over));
  // Unread bytes would make the kernel throw the error away together with the connection.
  boost::system::error_code ended;
  socket_.shutdown(Socket::shutdown_send, ended);
  char scrap[4096];
  for (int reads = 0; reads < 1024 && !ended; ++reads)
    static_cast<void>(socket_.read_some(asio::buffer(scrap), ended));
  broken_ = true;
}

}  // namespace reef::transport
