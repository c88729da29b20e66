// kill -9, again and again, under load: everything acknowledged is still there, and nothing needs
// repair by hand. REEF_SEED=n repeats a run, REEF_KILLS=n makes it longer.
#include <cstdlib>
#include <filesystem>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/notify.h"
#include "base/random.h"
#include "base/task_group.h"
#include "client/client.h"
#include "session/transcript.h"
#include "support/daemon_process.h"
#include "support/run.h"

namespace reef {
namespace {

constexpr int kWriters = 8;

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text && *text ? std::strtoull(text, nullptr, 10) : otherwise;
}

struct Acknowledged {
  std::set<std::string> messages;  // user messages whose `start` was seen
  std::set<std::string> replies;   // user messages whose `end` was seen
};

// Sends until the daemon is gone.
Task<void> write_until_killed(client::Endpoint endpoint, int writer, int round,
                              Acknowledged& acknowledged) {
  client::Options options;
  options.reconnects_max = 0;
  const auto loop = co_await boost::asio::this_coro::executor;
  client::Client client(loop, std::move(endpoint), options);
  for (int number = 0;; ++number) {
    const auto text = fmt::format("m-{}-{}-{}", round, writer, number);
    auto stream =
        co_await client.stream(client::TurnRequest{"echo", fmt::format("w{}", writer), text, ""});
    if (!stream) co_return;
    for (;;) {
      auto message = co_await stream->next();
      if (!message) co_return;
      if (!*message) break;
      const auto& event = (**message).stream();
      if (event.has_start()) acknowledged.messages.insert(text);
      if (event.has_end() && event.end().error().empty()) acknowledged.replies.insert(text);
    }
  }
}

Task<Result<protocol::CheckReport>> check(client::Client& client) {
  protocol::ClientMessage message;
  message.mutable_check_sessions();
  REEF_CO_TRY(auto stream, co_await client.open(std::move(message)));
  for (;;) {
    REEF_CO_TRY(const auto answer, co_await stream.next());
    if (!answer) co_return Error(Errc::internal, "no totals");
    if (answer->check_report().last()) co_return answer->check_report();
  }
}

TEST(Torture, NothingAcknowledgedIsLostInTwoHundredKills) {
#ifdef REEF_SANITIZED
  constexpr std::uint64_t kKills = 30;
#else
  constexpr std::uint64_t kKills = 200;
#endif
  const auto kills = from_environment("REEF_KILLS", kKills);
  const auto seed = from_environment("REEF_SEED", 20261115);
  std::printf("seed %llu, %llu kills\n", static_cast<unsigned long long>(seed),
              static_cast<unsigned long long>(kills));
  SeededRandom random(seed);
  const test::TempDir home;
  test::add_scripted_agent(home.path(), "echo", R"({"replies":[{"text":"a few words"}]})");
  boost::asio::io_context io(1);
  Acknowledged acknowledged;

  for (std::uint64_t round = 0; round < kills; ++round) {
    test::DaemonProcess daemon(home.path());
    TaskGroup writers(io.get_executor(), "writers");
    for (int i = 0; i < kWriters; ++i)
      writers.spawn(
          write_until_killed(daemon.endpoint(), i, static_cast<int>(round), acknowledged));
    io.restart();
    // Most kills come after something was acknowledged, however slow the machine is today; one in
    // four comes at any moment, from the first bytes on.
    const auto before = acknowledged.messages.size();
    const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (round % 4 != 0 && acknowledged.messages.size() <= before + 1 &&
           io.run_one_until(patience) > 0) {
    }
    io.run_until(std::chrono::steady_clock::now() +
                 std::chrono::microseconds(random.below(100'000)));
    daemon.kill9();
    test::run(io, writers.join());
  }

  // The daemon starts as after any crash, and every conversation goes on.
  {
    test::DaemonProcess daemon(home.path());
    for (int i = 0; i < kWriters; ++i) {
      client::Client client(io.get_executor(), daemon.endpoint());
      const auto answer = test::run(
          io, client.send(client::TurnRequest{"echo", fmt::format("w{}", i), "one more", ""}));
      ASSERT_TRUE(answer) << answer.error().what;
      EXPECT_EQ(answer->content(), "a few words");
      client.close();
      test::run_ready(io);
    }
    // This is what `reef fsck` asks.
    client::Client client(io.get_executor(), daemon.endpoint());
    const auto report = test::value_of(test::run(io, check(client)));
    EXPECT_EQ(report.problems(), 0U);
    EXPECT_EQ(report.sessions(), static_cast<std::uint64_t>(kWriters));
    client.close();
    test::run_ready(io);
    daemon.signal(SIGTERM);
    EXPECT_EQ(daemon.wait_for_exit(std::chrono::seconds(5)), 0);
  }

  std::set<std::string> messages;
  std::set<std::string> replied;
  std::size_t files = 0;
  for (const auto& folder : std::filesystem::directory_iterator(home / "sessions")) {
    ++files;
    const auto bytes = test::read_file(folder.path() / "session.jsonl");
    ASSERT_FALSE(bytes.empty());
    EXPECT_EQ(bytes.back(), '\n');
    const session::Transcript transcript(session::read_transcript(bytes));
    for (const auto& damage : transcript.damage())
      ADD_FAILURE() << folder.path() << " line " << damage.line << ": " << damage.what;
    std::string asked;
    for (const auto& entry : transcript.entries()) {
      const auto message = session::message_of(entry);
      if (!message) continue;
      if (session::role_of(*message) == "user") {
        asked = session::text_of(*message);
        EXPECT_TRUE(messages.insert(asked).second || asked == "one more") << asked << " twice";
      } else {
        replied.insert(asked);
      }
    }
  }
  EXPECT_EQ(files, static_cast<std::size_t>(kWriters));
  for (const auto& text : acknowledged.messages)
    EXPECT_TRUE(messages.contains(text)) << "lost: " << text;
  for (const auto& text : acknowledged.replies)
    EXPECT_TRUE(replied.contains(text)) << "lost the reply to " << text;
  std::printf("%zu messages and %zu replies acknowledged, none lost\n",
              acknowledged.messages.size(), acknowledged.replies.size());
  EXPECT_GT(acknowledged.messages.size(), kills);
}

}  // namespace
}  // namespace reef
