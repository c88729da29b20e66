// A client that sends bytes as they are, so that a test can be as rude as it likes.
#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "support/run.h"

namespace reef::test {

class Visitor {
 public:
  Visitor(boost::asio::io_context& io, std::uint16_t port) : io_(io), socket_(io) {
    socket_.connect({boost::asio::ip::address_v4::loopback(), port});
  }

  void send(std::string_view bytes) { run(io_, send_some(bytes)); }
  // Reads so many bytes more; fewer when the connection ends before.
  std::string read(std::size_t bytes) {
    while (got_.size() < bytes && run(io_, read_some())) {
    }
    return take(bytes);
  }
  std::string read_until(std::string_view end) {
    for (;;) {
      if (const auto at = got_.find(end); at != std::string::npos) return take(at + end.size());
      if (!run(io_, read_some())) return take(got_.size());
    }
  }
  // Reads to the end of the connection.
  std::string rest() {
    while (run(io_, read_some())) {
    }
    return take(got_.size());
  }
  // Reads an answer that states its length; its head goes to `head`.
  std::string answer(std::string* head = nullptr) {
    const auto top = read_until("\r\n\r\n");
    if (head) *head = top;
    constexpr std::string_view kLength = "Content-Length: ";
    const auto at = top.find(kLength);
    const auto length = at == std::string::npos ? 0 : std::stoul(top.substr(at + kLength.size()));
    return read(length);
  }
  int status() {
    std::string head;
    answer(&head);
    return head.size() > 12 ? std::stoi(head.substr(9, 3)) : 0;
  }
  bool ended() const { return ended_; }
  void close_sending() { socket_.shutdown(boost::asio::socket_base::shutdown_send); }
  // As a peer that crashed: without a word, with a reset.
  void vanish() {
    socket_.set_option(boost::asio::socket_base::linger(true, 0));
    socket_.close();
  }
  boost::asio::ip::tcp::socket& socket() { return socket_; }

 private:
  std::string take(std::size_t bytes) {
    auto out = got_.substr(0, bytes);
    got_.erase(0, out.size());
    return out;
  }
  Task<void> send_some(std::string_view bytes) {
    co_await boost::asio::async_write(socket_, boost::asio::buffer(bytes),
                                      boost::asio::as_tuple(boost::asio::use_awaitable));
  }
  Task<bool> read_some() {
    char piece[16384];
    const auto [error, bytes] = co_await socket_.async_read_some(
        boost::asio::buffer(piece), boost::asio::as_tuple(boost::asio::use_awaitable));
    got_.append(piece, bytes);
    if (error) ended_ = true;
    co_return !error;
  }

  boost::asio::io_context& io_;
  boost::asio::ip::tcp::socket socket_;
  std::string got_;
  bool ended_ = false;
};

}  // namespace reef::test
