// A thousand clients at once, and one among them that does not read.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/task_group.h"
#include "client/client.h"
#include "support/daemon_process.h"
#include "support/run.h"
#include "transport/frame.h"

namespace reef {
namespace {

#ifdef REEF_SANITIZED
constexpr int kClients = 200;
#else
constexpr int kClients = 1000;
#endif

struct Tally {
  int complete = 0;
  std::vector<std::string> problems;
};

Task<void> stream_once(client::Client& client, std::string sender, Tally& tally) {
  auto stream = co_await client.stream(client::TurnRequest{"chatty", std::move(sender), "hi", ""});
  if (!stream) {
    tally.problems.push_back(stream.error().what);
    co_return;
  }
  std::size_t bytes = 0;
  for (;;) {
    auto message = co_await stream->next();
    if (!message || !*message) {
      tally.problems.push_back(message ? "ended without end" : message.error().what);
      co_return;
    }
    bytes += (**message).stream().chunk().content().size();
    if (!(**message).stream().has_end()) continue;
    if ((**message).stream().end().error().empty() && bytes == 5 * 200) {
      ++tally.complete;
    } else {
      tally.problems.push_back(
          fmt::format("{} bytes, error '{}'", bytes, (**message).stream().end().error()));
    }
    co_return;
  }
}

// Asks for far more than any buffer holds and never reads.
Fd stall(const std::string& socket_path) {
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  socket_path.copy(address.sun_path, sizeof address.sun_path - 1);
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    throw std::runtime_error("connect");
  protocol::ClientMessage message;
  message.mutable_stream()->set_agent("flood");
  message.mutable_stream()->set_sender("stalled");
  message.mutable_stream()->set_content("hi");
  const auto frame = transport::make_frame(message.SerializeAsString());
  if (::send(fd.get(), frame.data(), frame.size(), 0) != ssize_t(frame.size()))
    throw std::runtime_error("send");
  return fd;
}

TEST(Load, AThousandStreamsCompleteBesideAReaderThatStalls) {
  rlimit limit = {};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);

  const test::TempDir home;
  test::write_file(home / "config.toml", "[limits]\nstall_ms_max = 5000\n");
  test::add_scripted_agent(home.path(), "chatty",
                           R"({"replies":[{"text":"word ","repeat":200,"delay_ms":1}]})");
  test::add_scripted_agent(home.path(), "flood",
                           R"({"replies":[{"text":"0123456789abcdef ","repeat":500000}]})");
  test::DaemonProcess daemon(home.path());
  const auto stalled = stall(daemon.endpoint().unix_path);

  boost::asio::io_context io(1);
  std::vector<std::unique_ptr<client::Client>> clients;
  Tally tally;
  {
    TaskGroup group(io.get_executor(), "load");
    for (int i = 0; i < kClients; ++i) {
      client::Options options;
      options.connect_timeout = std::chrono::seconds(60);  // a busy machine is no failure
      clients.push_back(
          std::make_unique<client::Client>(io.get_executor(), daemon.endpoint(), options));
      group.spawn(stream_once(*clients.back(), fmt::format("client-{}", i), tally));
    }
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(120);
    while (group.size() > 0 && std::chrono::steady_clock::now() < deadline)
      io.run_one_for(std::chrono::seconds(1));
    EXPECT_EQ(group.size(), 0U) << "not all streams ended";
  }
  EXPECT_EQ(tally.complete, kClients);
  for (const auto& problem : tally.problems) ADD_FAILURE() << problem;

  client::Client client(io.get_executor(), daemon.endpoint());
  EXPECT_TRUE(test::run(io, client.ping()));
  const auto stats = test::value_of(test::run(io, client.stats()));
  EXPECT_EQ(stats.sessions(), static_cast<std::uint64_t>(kClients) + 1);
  RecordProperty("peak_bytes", std::to_string(daemon.memory("VmHWM")));
#ifndef REEF_SANITIZED
  EXPECT_LT(daemon.memory("VmHWM"), 300U << 20);
#endif
  std::printf("peak resident memory: %.1f MB\n", double(daemon.memory("VmHWM")) / (1 << 20));

  // The stalled one is cut, with a reason in the log.
  const auto deadline = std::chrono::steady_clock::now() + test::kPatience;
  std::string log;
  while (log.find("the client took nothing for") == std::string::npos &&
         std::chrono::steady_clock::now() < deadline) {
    test::run(io, client.ping()).ok();
    log = test::read_file(home / "logs/reefd.log");
  }
  EXPECT_NE(log.find("the client took nothing for"), std::string::npos);
  for (auto& each : clients) each->close();
  client.close();
  test::run_ready(io);
}

}  // namespace
}  // namespace reef
