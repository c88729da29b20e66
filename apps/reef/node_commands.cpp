// ping, status, reload, stop: commands about the daemon itself.

#include <unistd.h>

#include <fmt/format.h>

#include "base/notify.h"
#include "base/utf8.h"
#include "commands.h"
#include "session_view.h"

namespace reef::cli {
namespace {

constexpr std::chrono::milliseconds kStopMax{10'000};
constexpr std::chrono::milliseconds kStopPause{5};

Task<Status> ping(const Context& context, client::Client& client) {
  const auto loop = co_await boost::asio::this_coro::executor;
  const auto before = steady_now(loop);
  REEF_CO_CHECK(co_await client.ping());
  const auto micros =
      std::chrono::duration_cast<std::chrono::microseconds>(steady_now(loop) - before).count();
  if (context.json) {
    print_json(json::object{{"ok", true}, {"microseconds", micros}});
  } else {
    print_line(fmt::format("pong ({:.2f} ms)", double(micros) / 1000));
  }
  co_return Ok{};
}

Task<Status> reload(const Context& context, client::Client& client) {
  REEF_CO_CHECK(co_await client.reload());
  if (context.json) {
    print_json(json::object{{"ok", true}});
  } else {
    print_line("reloaded");
  }
  co_return Ok{};
}

Task<Status> stop(const Context& context, client::Client& client) {
  REEF_CO_CHECK(co_await client.shutdown());
  client.close();
  const auto loop = co_await boost::asio::this_coro::executor;
  const auto deadline = steady_now(loop) + kStopMax;
  while (daemon::holder_of(context.home)) {
    if (steady_now(loop) > deadline)
      co_return Error(Errc::timeout, "the daemon is still running after 10 s");
    co_await sleep_for(kStopPause);
  }
  if (context.json) {
    print_json(json::object{{"ok", true}, {"running", false}});
  } else {
    print_line("stopped");
  }
  co_return Ok{};
}

Task<Status> session_status(const Context& context, client::Client& client, std::string id) {
  protocol::DescribeSession request;
  request.set_id(utf8::sanitize(id));
  REEF_CO_TRY(const auto session, co_await describe(client, std::move(request)));
  print_session(context, session);
  co_return Ok{};
}

std::string duration_text(std::uint64_t seconds) {
  if (seconds < 60) return fmt::format("{} s", seconds);
  if (seconds < 3600) return fmt::format("{} m {} s", seconds / 60, seconds % 60);
  if (seconds < 86'400) return fmt::format("{} h {} m", seconds / 3600, seconds % 3600 / 60);
  return fmt::format("{} d {} h", seconds / 86'400, seconds % 86'400 / 3600);
}

}  // namespace

Task<Status> print_status(const Context& context, client::Client& client) {
  REEF_CO_TRY(const auto stats, co_await client.stats());
  json::array problems;
  for (const auto& problem : stats.problems()) problems.emplace_back(problem);
  if (context.json) {
    print_json(json::object{
        {"running", true},
        {"version", stats.version()},
        {"protocolVersion", stats.protocol_version()},
        {"pid", stats.pid()},
        {"home", stats.home()},
        {"uptimeSeconds", stats.uptime_secs()},
        {"sessions", stats.sessions()},
        {"agents", stats.registered_agents()},
        {"activeModel", stats.active_model()},
        {"activeConversations", stats.active_conversations()},
        {"connections", stats.connections()},
        {"residentBytes", stats.resident_bytes()},
        {"problems", problems},
    });
    co_return Ok{};
  }
  print_line(fmt::format("reefd {}, pid {}, up {}", stats.version(), stats.pid(),
                         duration_text(stats.uptime_secs())));
  print_line(fmt::format("home      {}", stats.home()));
  print_line(
      fmt::format("sessions  {} ({} running)", stats.sessions(), stats.active_conversations()));
  print_line(fmt::format("agents    {} (default model: {})", stats.registered_agents(),
                         stats.active_model()));
  print_line(fmt::format("clients   {}", stats.connections()));
  print_line(fmt::format("memory    {}", human_bytes(stats.resident_bytes())));
  for (const auto& problem : stats.problems())
    print_line(fmt::format("problem   {}", shown(problem)));
  co_return Ok{};
}

int run_ping(const Context& context) {
  return with_client(context, "ping", Start::if_needed,
                     [&](client::Client& client) { return ping(context, client); });
}

int run_status(const Context& context) {
  return with_client(context, "status", Start::never,
                     [&](client::Client& client) { return print_status(context, client); });
}

int run_session_status(const Context& context, const std::string& id) {
  return with_client(context, "status", Start::never,
                     [&](client::Client& client) { return session_status(context, client, id); });
}

int run_reload(const Context& context) {
  return with_client(context, "reload", Start::never,
                     [&](client::Client& client) { return reload(context, client); });
}

int run_stop(const Context& context) {
  if (!daemon::holder_of(context.home)) {
    if (context.json) {
      print_json(json::object{{"ok", true}, {"running", false}});
    } else {
      print_line("no daemon is running");
    }
    return 0;
  }
  return with_client(context, "stop", Start::never,
                     [&](client::Client& client) { return stop(context, client); });
}

}  // namespace reef::cli
