#include <algorithm>
#include <exception>

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/core/bind_handler.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <boost/system/system_error.hpp>

#include "base/log.h"
#include "base/notify.h"
#include "http_server/link.h"

namespace reef::http_server {
namespace asio = boost::asio;
namespace beast = boost::beast;
namespace websocket = boost::beast::websocket;

namespace {

constexpr std::chrono::seconds kGoodbyePatience{5};

// A link as Beast wants to see it. One coroutine type for all its operations keeps Beast's own code
// compiled once, whether there is TLS below or not.
struct BeastLink {
  using executor_type = Executor;

  std::shared_ptr<Link> link;

  const Executor& get_executor() const { return link->loop(); }

  template <class Buffers, class Token>
  auto async_read_some(const Buffers& buffers, Token&& token) {
    const auto start = [](auto handler, std::shared_ptr<Link> from, asio::mutable_buffer into) {
      run(std::move(handler), from, read(from, into));
    };
    return asio::async_initiate<Token, void(boost::system::error_code, std::size_t)>(
        start, token, link, first<asio::mutable_buffer>(buffers));
  }
  template <class Buffers, class Token>
  auto async_write_some(const Buffers& buffers, Token&& token) {
    const auto start = [](auto handler, std::shared_ptr<Link> to, asio::const_buffer from) {
      run(std::move(handler), to, write(to, from));
    };
    return asio::async_initiate<Token, void(boost::system::error_code, std::size_t)>(
        start, token, link, first<asio::const_buffer>(buffers));
  }

 private:
  static Task<Moved> read(std::shared_ptr<Link> from, asio::mutable_buffer into) {
    co_return co_await from->read_some(into);
  }
  static Task<Moved> write(std::shared_ptr<Link> to, asio::const_buffer from) {
    co_return co_await to->write_some(from);
  }
  template <class Buffer, class Buffers>
  static Buffer first(const Buffers& buffers) {
    for (auto it = asio::buffer_sequence_begin(buffers); it != asio::buffer_sequence_end(buffers);
         ++it)
      if (Buffer one = *it; one.size() > 0) return one;
    return {};
  }
  template <class Done>
  static void run(Done done, const std::shared_ptr<Link>& link, Task<Moved> task) {
    const auto slot = asio::get_associated_cancellation_slot(done);
    auto executor = asio::get_associated_executor(done, link->loop());
    auto end = [done = std::move(done), executor = std::move(executor)](std::exception_ptr failure,
                                                                        Moved moved) mutable {
      if (failure) moved = {asio::error::operation_aborted, 0};
      asio::dispatch(executor, beast::bind_handler(std::move(done), moved.error, moved.bytes));
    };
    asio::co_spawn(link->loop(), std::move(task),
                   asio::bind_cancellation_slot(slot, std::move(end)));
  }
};

// Beast calls this when its own patience ran out.
void beast_close_socket(BeastLink& at) {
  at.link->cut();
}

// The link lingers by itself after this.
template <class Done>
void async_teardown(beast::role_type, BeastLink& at, Done&& done) {
  asio::post(at.get_executor(),
             beast::bind_front_handler(std::forward<Done>(done), boost::system::error_code()));
}
[[maybe_unused]] void teardown(beast::role_type, BeastLink&, boost::system::error_code& error) {
  error = {};
}

class BeastSocket final : public WebSocket {
 public:
  explicit BeastSocket(std::shared_ptr<Link> link)
      : stream_(BeastLink{link}), changed_(link->loop()), loop_(link->loop()) {
    stream_.set_option(
        websocket::stream_base::timeout{kGoodbyePatience, link->limits().websocket_idle, true});
    stream_.read_message_max(link->limits().message_bytes);
    stream_.auto_fragment(false);
  }

  Task<boost::system::error_code> accept(const Request& request, Headers headers) {
    beast::http::request<beast::http::empty_body> asked;
    asked.method(beast::http::verb::get);
    asked.target(request.target);
    asked.version(11);
    for (const auto& [name, value] : request.headers) asked.insert(name, value);
    stream_.set_option(websocket::stream_base::decorator(
        [extra = std::move(headers)](websocket::response_type& answer) {
          for (const auto& [name, value] : extra) answer.set(name, value);
        }));
    const auto [error] = co_await stream_.async_accept(asked, kAwait);
    co_return error;
  }

  Task<Result<Message>> read() override {
    beast::flat_buffer buffer;
    const auto [error, bytes] = co_await stream_.async_read(buffer, kAwait);
    static_cast<void>(bytes);
    if (!error)
      co_return Message{.is_text = stream_.got_text(),
                        .data = beast::buffers_to_string(buffer.data())};
    if (error == websocket::error::closed) {
      closed_with_ = stream_.reason().code == websocket::close_code::none
                         ? std::uint16_t{1005}
                         : static_cast<std::uint16_t>(stream_.reason().code);
      co_return Error(Errc::gone, "the peer closed the WebSocket");
    }
    if (error == websocket::error::message_too_big || error == websocket::error::buffer_overflow)
      co_return Error(Errc::too_large, "a message is larger than what is taken");
    if (error == beast::error::timeout)
      co_return Error(Errc::timeout, "the peer does not answer any more");
    if (error == websocket::condition::protocol_violation)
      co_return Error(Errc::invalid, error.message());
    co_return Error(Errc::unavailable, error.message());
  }

  Task<Status> send(Message message) override {
    while (sending_) co_await changed_.wait();
    const Flag sending(sending_, changed_);
    stream_.text(message.is_text);
    const auto [error, bytes] = co_await stream_.async_write(asio::buffer(message.data), kAwait);
    static_cast<void>(bytes);
    if (!error) co_return Ok{};
    co_return Error(Errc::unavailable, error.message());
  }

  Task<void> close(std::uint16_t code, std::string reason) override {
    while (closing_) co_await changed_.wait();
    if (!stream_.is_open()) co_return;
    const Flag closing(closing_, changed_);
    // A control frame has room for so much.
    constexpr std::size_t kReasonBytesMax = 123;
    reason.resize(std::min(reason.size(), kReasonBytesMax));
    const websocket::close_reason why(static_cast<websocket::close_code>(code), reason);
    static_cast<void>(co_await stream_.async_close(why, kAwait));
  }

  std::uint16_t closed_with() const override { return closed_with_; }

 private:
  // Set as long as one task does something that only one may do.
  struct Flag {
    Flag(bool& what, Notify& who) : flag(what), changed(who) { flag = true; }
    ~Flag() {
      flag = false;
      changed.notify_all();
    }
    Flag(const Flag&) = delete;
    Flag& operator=(const Flag&) = delete;
    bool& flag;
    Notify& changed;
  };

  websocket::stream<BeastLink, false> stream_;
  Notify changed_;
  Executor loop_;
  bool sending_ = false;
  bool closing_ = false;
  std::uint16_t closed_with_ = 0;
};

// Returns the code to close with.
Task<std::uint16_t> talk_safely(const std::function<Task<void>(WebSocket&)>& talk,
                                WebSocket& socket) {
  try {
    co_await talk(socket);
    co_return std::uint16_t{1000};
  } catch (const boost::system::system_error& error) {
    if (error.code() == asio::error::operation_aborted) throw;
    log::error("a WebSocket ended by an exception: {}", error.what());
  } catch (const std::exception& error) {
    log::error("a WebSocket ended by an exception: {}", error.what());
  }
  co_return std::uint16_t{1011};
}

}  // namespace

Task<bool> serve_websocket(std::shared_ptr<Link> link, const Request& request, Headers headers,
                           std::function<Task<void>(WebSocket&)> talk) {
  const auto socket = std::make_shared<BeastSocket>(link);
  const auto refused = co_await socket->accept(request, std::move(headers));
  if (refused) co_return false;
  link->websocket = socket;
  if (link->stopping) {
    co_await socket->close(1001, "the server stops");
    co_return true;
  }
  const auto code = co_await talk_safely(talk, *socket);
  co_await socket->close(code, {});
  co_return true;
}

}  // namespace reef::http_server
