#include "support/fake_http.h"

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include <boost/asio/buffer.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>

#include "base/utf8.h"

namespace reef::test {
namespace asio = boost::asio;
using asio::ip::tcp;

struct FakeHttp::Connection {
  explicit Connection(tcp::socket s) : socket(std::move(s)) {}
  tcp::socket socket;
  std::string input;
};

FakeReply event_stream(std::vector<std::string> pieces) {
  FakeReply reply;
  reply.headers = {{"Content-Type", "text/event-stream"}};
  reply.pieces = std::move(pieces);
  return reply;
}

FakeReply json_reply(int status, std::string body) {
  FakeReply reply;
  reply.status = status;
  reply.headers = {{"Content-Type", "application/json"}};
  reply.body_bytes = body.size();
  reply.pieces = {std::move(body)};
  return reply;
}

FakeHttp::FakeHttp(Executor loop)
    : loop_(loop),
      acceptor_(loop, tcp::endpoint(asio::ip::address_v4::loopback(), 0)),
      changed_(loop),
      tasks_(loop, "fake http") {
  tasks_.spawn(accept());
}

FakeHttp::~FakeHttp() = default;

std::uint16_t FakeHttp::port() const {
  return acceptor_.local_endpoint().port();
}

std::string FakeHttp::url() const {
  return fmt::format("http://127.0.0.1:{}", port());
}

Task<void> FakeHttp::stop() {
  tasks_.cancel();
  co_await tasks_.join();
}

Task<void> FakeHttp::accept() {
  co_await yield_to_loop();
  for (;;) {
    auto socket = co_await acceptor_.async_accept(asio::use_awaitable);
    socket.set_option(tcp::no_delay(true));
    const auto number = connections_++;
    changed_.notify_all();
    tasks_.spawn(serve(number, std::make_shared<Connection>(std::move(socket))));
  }
}

void FakeHttp::note_closed(std::size_t number) {
  closed_.emplace(number, std::chrono::steady_clock::now());
  changed_.notify_all();
}

FakeReply FakeHttp::next_reply(const SeenRequest& request) {
  if (on_request) return on_request(request);
  if (replies_.empty()) throw std::runtime_error("the fake server was told no reply");
  auto reply = replies_.front();
  if (replies_.size() > 1) replies_.pop_front();
  return reply;
}

Task<void> FakeHttp::serve(std::size_t number, std::shared_ptr<Connection> connection) {
  co_await yield_to_loop();
  auto& input = connection->input;
  boost::system::error_code failed;
  auto token = asio::redirect_error(asio::use_awaitable, failed);
  for (;;) {
    const auto head_bytes = co_await asio::async_read_until(
        connection->socket, asio::dynamic_buffer(input, 1U << 20), "\r\n\r\n", token);
    if (failed) {
      note_closed(number);
      co_return;
    }
    SeenRequest request;
    request.connection = number;
    std::string_view head(input.data(), head_bytes);
    const auto line = head.substr(0, head.find("\r\n"));
    const auto space = line.find(' ');
    request.method = line.substr(0, space);
    request.target = line.substr(space + 1, line.rfind(' ') - space - 1);
    head.remove_prefix(line.size() + 2);
    while (head.size() > 2) {
      const auto field = head.substr(0, head.find("\r\n"));
      const auto colon = field.find(':');
      auto value = field.substr(colon + 1);
      while (value.starts_with(' ')) value.remove_prefix(1);
      request.headers[utf8::lower_ascii(field.substr(0, colon))] = value;
      head.remove_prefix(field.size() + 2);
    }
    std::size_t length = 0;
    if (const auto found = request.headers.find("content-length"); found != request.headers.end())
      std::from_chars(found->second.data(), found->second.data() + found->second.size(), length);
    input.erase(0, head_bytes);
    if (input.size() < length) {
      co_await asio::async_read(connection->socket, asio::dynamic_buffer(input),
                                asio::transfer_exactly(length - input.size()), token);
      if (failed) {
        note_closed(number);
        co_return;
      }
    }
    request.body = input.substr(0, length);
    input.erase(0, length);
    auto reply = next_reply(request);
    requests_.push_back(std::move(request));
    changed_.notify_all();
    const bool more = co_await answer(number, *connection, std::move(reply));
    if (!more) co_return;
  }
}

Task<bool> FakeHttp::answer(std::size_t number, Connection& connection, FakeReply reply) {
  boost::system::error_code failed;
  auto token = asio::redirect_error(asio::use_awaitable, failed);
  auto& socket = connection.socket;
  if (reply.silent) {
    co_await watch_for_close(number, connection);
    co_return false;
  }
  if (!reply.raw.empty()) {
    co_await asio::async_write(socket, asio::buffer(reply.raw), token);
    co_return false;
  }
  auto head = fmt::format("HTTP/1.1 {} Status\r\n", reply.status);
  for (const auto& [name, value] : reply.headers) head += fmt::format("{}: {}\r\n", name, value);
  const bool chunked = reply.body_bytes == 0;
  head += chunked ? "Transfer-Encoding: chunked\r\n\r\n"
                  : fmt::format("Content-Length: {}\r\n\r\n", reply.body_bytes);
  co_await asio::async_write(socket, asio::buffer(head), token);
  for (const auto& piece : reply.pieces) {
    const auto bytes = chunked ? fmt::format("{:x}\r\n{}\r\n", piece.size(), piece) : piece;
    if (!failed && !piece.empty()) co_await asio::async_write(socket, asio::buffer(bytes), token);
    ++pieces_sent_;
    changed_.notify_all();
  }
  if (failed) {
    note_closed(number);
    co_return false;
  }
  switch (reply.then) {
    case FakeReply::Then::keep:
      if (chunked) co_await asio::async_write(socket, asio::buffer("0\r\n\r\n", 5), token);
      co_return !failed;
    case FakeReply::Then::cut:
      co_return false;
    case FakeReply::Then::reset:
      socket.set_option(tcp::socket::linger(true, 0));
      co_return false;
    case FakeReply::Then::hang:
      break;
  }
  co_await watch_for_close(number, connection);
  co_return false;
}

Task<void> FakeHttp::watch_for_close(std::size_t number, Connection& connection) {
  boost::system::error_code failed;
  char ignored[256];
  while (!failed)
    co_await connection.socket.async_read_some(asio::buffer(ignored),
                                               asio::redirect_error(asio::use_awaitable, failed));
  note_closed(number);
}

}  // namespace reef::test
