#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <gtest/gtest.h>

#include "http_server/certificate.h"
#include "http_server/http_server.h"
#include "http_server/visitor.h"
#include "support/manual_clock.h"
#include "support/temp_dir.h"

namespace reef::http_server {
namespace {

namespace asio = boost::asio;
namespace ssl = boost::asio::ssl;
using std::chrono::milliseconds;

class TlsTest : public testing::Test {
 protected:
  TlsTest() { write("one"); }
  ~TlsTest() override {
    if (server_) test::run(io_, server_->stop(milliseconds(0)));
  }

  void write(const std::string& name) {
    const auto made = test::make_certificate(name);
    test::write_file(dir_ / "cert.pem", made.certificate);
    test::write_file(dir_ / "key.pem", made.key);
  }
  void listen() {
    options_.tls = test::value_of(load_tls(dir_ / "cert.pem", dir_ / "key.pem"));
    Handler handler = [](Request& request) -> Task<Response> {
      co_return Response{.body = "secret " + std::string(request.path())};
    };
    server_ = test::value_of(Server::listen_loopback(io_.get_executor(), 0, handler, options_));
  }

  using Stream = ssl::stream<asio::ip::tcp::socket>;
  static Task<std::string> ask(Stream& stream, std::uint16_t port, std::string& shown) {
    co_await stream.next_layer().async_connect({asio::ip::address_v4::loopback(), port},
                                               asio::use_awaitable);
    co_await stream.async_handshake(ssl::stream_base::client, asio::use_awaitable);
    char name[100] = {};
    X509* const certificate = SSL_get1_peer_certificate(stream.native_handle());
    X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, name,
                              sizeof name);
    X509_free(certificate);
    shown = name;
    constexpr std::string_view kRequest = "GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
    co_await asio::async_write(stream, asio::buffer(kRequest), asio::use_awaitable);
    std::string out;
    for (;;) {
      char piece[4096];
      const auto [error, bytes] =
          co_await stream.async_read_some(asio::buffer(piece), asio::as_tuple(asio::use_awaitable));
      out.append(piece, bytes);
      if (!error) continue;
      EXPECT_EQ(error, asio::error::eof) << "an end that nobody can have forged";
      co_return out;
    }
  }
  // Returns the name in the certificate that was shown.
  std::string shown() {
    ssl::context context(ssl::context::tls_client);
    Stream stream(io_, context);
    std::string name;
    const auto answer = test::run(io_, ask(stream, server_->port(), name));
    EXPECT_TRUE(answer.ends_with("\r\n\r\nsecret /a")) << answer;
    return name;
  }

  test::TempDir dir_;
  boost::asio::io_context io_;
  test::ManualClock clock_{io_};
  Options options_;
  std::unique_ptr<Server> server_;
};

TEST_F(TlsTest, TheCertificateIsReadAgainWhenItChanges) {
  listen();
  EXPECT_EQ(shown(), "one");
  write("another");
  EXPECT_EQ(shown(), "another");
  test::write_file(dir_ / "cert.pem", "half of a certif");
  EXPECT_EQ(shown(), "another") << "the last one that is whole";
  write("a third one");
  EXPECT_EQ(shown(), "a third one");
}

TEST_F(TlsTest, AWebSocketGoesThroughIt) {
  options_.tls = test::value_of(load_tls(dir_ / "cert.pem", dir_ / "key.pem"));
  Handler handler = [](Request&) -> Task<Response> {
    co_return Response{.websocket = [](WebSocket& socket) -> Task<void> {
      auto message = co_await socket.read();
      if (message) static_cast<void>(co_await socket.send(*std::move(message)));
    }};
  };
  server_ = test::value_of(Server::listen_loopback(io_.get_executor(), 0, handler, options_));
  ssl::context context(ssl::context::tls_client);
  Stream stream(io_, context);
  const auto talk = [](Stream& with, std::uint16_t port) -> Task<std::string> {
    co_await with.next_layer().async_connect({asio::ip::address_v4::loopback(), port},
                                             asio::use_awaitable);
    co_await with.async_handshake(ssl::stream_base::client, asio::use_awaitable);
    const std::string sent =
        "GET /ws HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n" +
        std::string("\x81\x83\0\0\0\0abc", 9);
    co_await asio::async_write(with, asio::buffer(sent), asio::use_awaitable);
    std::string out;
    // The message, and the server's goodbye after it.
    while (out.find("\r\n\r\n\x81\x03"
                    "abc\x88") == std::string::npos) {
      char piece[4096];
      const auto [error, bytes] =
          co_await with.async_read_some(asio::buffer(piece), asio::as_tuple(asio::use_awaitable));
      if (error) break;
      out.append(piece, bytes);
    }
    co_return out;
  };
  const auto got = test::run(io_, talk(stream, server_->port()));
  EXPECT_NE(got.find("\r\n\r\n\x81\x03"
                     "abc\x88"),
            std::string::npos)
      << got;
}

TEST_F(TlsTest, AKeyThatDoesNotFitIsAnErrorAtOnce) {
  test::write_file(dir_ / "key.pem", test::make_certificate("other").key);
  EXPECT_FALSE(load_tls(dir_ / "cert.pem", dir_ / "key.pem"));
  EXPECT_FALSE(load_tls(dir_ / "none.pem", dir_ / "key.pem"));
}

TEST_F(TlsTest, WhoeverDoesNotShakeHandsIsCutOff) {
  listen();
  test::Visitor silent(io_, server_->port());
  test::run_until(io_, [&] { return clock_.until_next() == options_.limits.header; });
  clock_.advance(options_.limits.header);
  silent.rest();
  EXPECT_TRUE(silent.ended());
  test::Visitor plain(io_, server_->port());
  plain.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(plain.rest().find("HTTP/1.1"), std::string::npos);
  EXPECT_TRUE(plain.ended());
}

}  // namespace
}  // namespace reef::http_server
