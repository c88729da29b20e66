// Any bytes from a client: the connection ends, its handler sees bodies and messages within the
// limits, and what it gets is the beginning of an answer.
#include <cstddef>
#include <cstdint>
#include <string>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>

#include "base/assert.h"
#include "base/task_group.h"
#include "http_server/link.h"

namespace {

using namespace reef;
using http_server::Request;
using http_server::Response;
using http_server::WebSocket;

constexpr std::size_t kBodyBytesMax = 300;
constexpr std::size_t kMessageBytesMax = 100;

Task<void> listen_to(WebSocket& socket) {
  for (;;) {
    const auto message = co_await socket.read();
    if (!message) co_return;
    REEF_ASSERT(message->data.size() <= kMessageBytesMax);
  }
}

Task<Response> answer(Request& request) {
  REEF_ASSERT(!request.method.empty());
  REEF_ASSERT(request.path().size() <= request.target.size());
  if (request.wants_websocket) co_return Response{.websocket = listen_to};
  const auto body = co_await request.whole_body();
  if (body) REEF_ASSERT(body->size() <= kBodyBytesMax);
  co_return Response{.body = "x"};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* input, std::size_t size) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return 0;
  boost::asio::io_context io(1);
  http_server::Limits limits;
  limits.header_bytes = 512;
  limits.body_bytes = kBodyBytesMax;
  limits.message_bytes = kMessageBytesMax;
  const auto sent = ::send(ends[1], input, size, MSG_DONTWAIT);
  static_cast<void>(sent);
  ::shutdown(ends[1], SHUT_WR);
  bool ended = false;
  TaskGroup tasks(io.get_executor(), "fuzz");
  tasks.spawn(http_server::serve_http(
      std::make_shared<http_server::Link>(
          io.get_executor(),
          http_server::plain_wire({io, boost::asio::generic::stream_protocol(AF_UNIX, 0), ends[0]}),
          limits, [&](http_server::Link&) { ended = true; }),
      std::make_shared<const http_server::Handler>(answer)));
  io.run();
  REEF_ASSERT(ended);
  std::string got(1U << 20, '\0');
  const auto bytes = ::recv(ends[1], got.data(), got.size(), MSG_DONTWAIT);
  if (bytes > 0) REEF_ASSERT(got.starts_with("HTTP/1.1 "));
  ::close(ends[1]);
  return 0;
}
