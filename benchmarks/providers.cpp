// The cost that Reef adds to a model's stream: CPU per token and memory per stream, compared with a
// plain reader of the same bytes. A child of this program plays the backend.
#include <csignal>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <boost/asio/buffer.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>

#include "base/notify.h"
#include "base/task_group.h"
#include "groups.h"
#include "measure.h"
#include "model/http_provider.h"
#include "model/openai/openai.h"
#include "process.h"
#include "table.h"

namespace reef::benchmarks {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

constexpr std::size_t kStreams = 200;
constexpr int kTokensPerSecond = 50;  // per stream; 10,000 for all together
constexpr int kSeconds = 5;
constexpr int kTokens = kTokensPerSecond * kSeconds;
constexpr int kFloodTokens = 5'000;  // per stream, as fast as possible

// One token as OpenAI sends it.
std::string chunk_of(std::string_view token) {
  const auto event = fmt::format(
      "data: "
      "{{\"id\":\"chatcmpl-AbCdEfGhIjKlMnOpQrStUvWxYz012\",\"object\":\"chat.completion.chunk\","
      "\"created\":1763000000,\"model\":\"gpt-5-mini-2025-08-07\",\"service_tier\":\"default\","
      "\"system_fingerprint\":\"fp_0123456789\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":"
      "\"{}\"}},\"logprobs\":null,\"finish_reason\":null}}],\"usage\":null,\"obfuscation\":"
      "\"aBcDeFgH\"}}\n\n",
      token);
  return fmt::format("{:x}\r\n{}\r\n", event.size(), event);
}

std::string last_chunks() {
  const std::string events =
      "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
      "data: [DONE]\n\n";
  return fmt::format("{:x}\r\n{}\r\n0\r\n\r\n", events.size(), events);
}

// The backend: accepts connections until all are there, then sends each a token in turn. Blocking
// and plain, because its time is not measured.
[[noreturn]] void serve(int listener, int tokens, bool paced) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  const std::string head =
      "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
  const auto token = chunk_of(" token");
  const auto end = last_chunks();
  const auto send_all = [](int socket, const std::string& bytes) {
    for (std::size_t at = 0; at < bytes.size();) {
      const auto sent = ::send(socket, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
      if (sent <= 0) ::_exit(1);
      at += static_cast<std::size_t>(sent);
    }
  };
  std::vector<int> sockets;
  while (sockets.size() < kStreams) {
    const int socket = ::accept(listener, nullptr, nullptr);
    if (socket < 0) ::_exit(1);
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    char buffer[16384];
    std::string request;
    while (request.find("\r\n\r\n") == std::string::npos) {
      const auto got = ::recv(socket, buffer, sizeof buffer, 0);
      if (got <= 0) ::_exit(1);
      request.append(buffer, static_cast<std::size_t>(got));
    }
    send_all(socket, head);
    sockets.push_back(socket);
  }
  auto next = now();
  for (int i = 0; i < tokens; ++i) {
    for (const int socket : sockets) send_all(socket, token);
    next += std::chrono::nanoseconds(std::chrono::seconds(1)) / kTokensPerSecond;
    if (paced) {
      const auto left = std::chrono::duration_cast<std::chrono::microseconds>(next - now());
      if (left.count() > 0) ::usleep(static_cast<useconds_t>(left.count()));
    }
  }
  for (const int socket : sockets) send_all(socket, end);
  ::pause();
  ::_exit(0);
}

struct Backend {
  Child process;
  std::uint16_t port;
};

Result<Backend> start_backend(int tokens, bool paced) {
  const Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (!listener || ::bind(listener.get(), generic, size) != 0 ||
      ::listen(listener.get(), kStreams) != 0 || ::getsockname(listener.get(), generic, &size) != 0)
    return sys_error(errno, "listen");
  const int child = ::fork();
  if (child < 0) return sys_error(errno, "fork");
  if (child == 0) {
    std::signal(SIGTERM, SIG_DFL);
    std::signal(SIGINT, SIG_DFL);
    serve(listener.get(), tokens, paced);
  }
  return Backend{Child(child), ntohs(address.sin_port)};
}

struct Cost {
  Nanos cpu{0};
  Nanos wall{0};
  double stream_kib = 0;
  std::size_t tokens = 0;
};

// Runs all streams to their end; resources are measured from when each stream has its first token.
template <class Stream>
Result<Cost> measure(asio::io_context& io, Stream stream) {
  TaskGroup group(io.get_executor(), "streams");
  Cost cost;
  std::size_t tokens = 0;
  std::size_t started = 0;
  REEF_TRY(const auto before, resident(::getpid()));
  for (std::size_t i = 0; i < kStreams; ++i) group.spawn(stream(tokens, started));
  while (started < kStreams && group.size() > 0) {
    io.run_one();
    REEF_CHECK(check_interrupted());
  }
  const auto cpu_before = cpu_time_of(::getpid());
  const auto tokens_before = tokens;
  const auto began = now();
  double most_mib = 0;
  auto look = began;
  while (group.size() > 0) {
    io.run_one();
    if (now() - look < std::chrono::milliseconds(250)) continue;
    look = now();
    REEF_TRY(const auto during, resident(::getpid()));
    most_mib = std::max(most_mib, during.anonymous_mib);
    REEF_CHECK(check_interrupted());
  }
  cost.wall = now() - began;
  cost.cpu = cpu_time_of(::getpid()) - cpu_before;
  cost.tokens = tokens - tokens_before;
  cost.stream_kib = std::max(0.0, most_mib - before.anonymous_mib) * 1024 / double(kStreams);
  io.restart();
  return cost;
}

Result<Cost> by_reef(int tokens, bool paced) {
  REEF_TRY(const auto backend, start_backend(tokens, paced));
  asio::io_context io(1);
  Pool pool(1);
  SystemClock clock;
  SystemRandom random;
  http::Client client(io.get_executor());
  const auto url = fmt::format("http://127.0.0.1:{}", backend.port);
  model::HttpProvider provider(
      {client, pool, clock, random},
      [url](const std::string& key) -> std::shared_ptr<const model::Codec> {
        return std::make_shared<model::openai::ChatCodec>(
            model::openai::ChatSettings{model::openai::endpoint_at(url, key)});
      },
      model::key_source_from("sk-bench"), [](std::string_view) { return model::ModelFacts(); }, {});
  model::Request request;
  request.model = "gpt-5-mini";
  session::UserMessage words;
  words.content.push_back(session::TextBlock{"Go on."});
  request.messages.push_back(std::make_shared<const session::Message>(words));
  bool failed = false;
  const auto stream = [&](std::size_t& count, std::size_t& started) -> Task<void> {
    co_await yield_to_loop();
    bool first = true;
    const model::DeltaSink sink = [&](const model::Delta&) {
      ++count;
      if (std::exchange(first, false)) ++started;
    };
    const auto outcome = co_await provider.stream(request, sink);
    if (!std::holds_alternative<model::Reply>(outcome)) failed = true;
  };
  auto cost = measure(io, stream);
  TaskGroup ending(io.get_executor(), "end");
  ending.spawn(client.stop());
  io.run();
  if (failed) return Error(Errc::provider, "a stream failed");
  return cost;
}

// The simplest reader: reads the bytes and counts the tokens by their size.
Result<Cost> by_plain_reader(int tokens, bool paced) {
  REEF_TRY(const auto backend, start_backend(tokens, paced));
  asio::io_context io(1);
  const tcp::endpoint place(asio::ip::address_v4::loopback(), backend.port);
  const auto token_bytes = chunk_of(" token").size();
  const auto end = last_chunks();
  const auto stream = [&](std::size_t& count, std::size_t& started) -> Task<void> {
    co_await yield_to_loop();
    tcp::socket socket(io);
    co_await socket.async_connect(place, asio::use_awaitable);
    const std::string request = "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n\r\n";
    co_await asio::async_write(socket, asio::buffer(request), asio::use_awaitable);
    std::string buffer(16384, '\0');
    std::string tail;
    bool first = true;
    while (!tail.ends_with(end)) {
      const auto got = co_await socket.async_read_some(asio::buffer(buffer), asio::use_awaitable);
      count += got / token_bytes;
      if (got >= token_bytes && std::exchange(first, false)) ++started;
      tail.append(buffer, 0, got);
      if (tail.size() > end.size()) tail.erase(0, tail.size() - end.size());
    }
  };
  return measure(io, stream);
}

// Measures the codec alone, on bytes that are there already.
double decoding_us() {
  model::openai::ChatCodec codec(model::openai::ChatSettings{});
  model::Request request;
  std::string event = chunk_of(" token");
  event = event.substr(event.find("\r\n") + 2);
  event.resize(event.size() - 2);
  constexpr int kRounds = 200'000;
  const auto decoder = codec.decoder(request, {});
  std::size_t heard = 0;
  const model::DeltaSink sink = [&](const model::Delta&) { ++heard; };
  const auto began = now();
  for (int i = 0; i < kRounds; ++i)
    if (decoder->take(event, sink)) break;
  return in_us(now() - began) / double(std::max<std::size_t>(heard, 1));
}

}  // namespace

Status providers() {
  Table paced(fmt::format("A model's stream: {} streams, {} tokens a second together, {} s",
                          kStreams, kStreams * kTokensPerSecond, kSeconds),
              {"", "CPU us/token", "of one core %", "KiB/stream"});
  Table flood(fmt::format("As fast as it goes: {} streams, {} tokens each", kStreams, kFloodTokens),
              {"", "CPU us/token", "tokens/s"});
  const auto add = [](Table& table, const std::string& name, const Cost& cost, bool is_paced) {
    const double each = in_us(cost.cpu) / double(std::max<std::size_t>(cost.tokens, 1));
    if (is_paced) {
      table.add({name, number(each), number(100 * in_seconds(cost.cpu) / in_seconds(cost.wall)),
                 number(cost.stream_kib)});
    } else {
      table.add({name, number(each), number(double(cost.tokens) / in_seconds(cost.wall))});
    }
  };
  for (const bool is_paced : {true, false}) {
    const int tokens = is_paced ? kTokens : kFloodTokens;
    auto& table = is_paced ? paced : flood;
    REEF_TRY(const auto plain, by_plain_reader(tokens, is_paced));
    REEF_TRY(const auto ours, by_reef(tokens, is_paced));
    add(table, "reef: HTTP, events, JSON, reply", ours, is_paced);
    add(table, "plain reader of the bytes", plain, is_paced);
  }
  paced.note(fmt::format("decoding alone, from memory: {} us/token", number(decoding_us())));
  paced.print();
  flood.print();
  return Ok{};
}

}  // namespace reef::benchmarks
