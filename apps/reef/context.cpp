#include "context.h"

#include <cstdio>
#include <cstdlib>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <fmt/format.h>

#include "base/notify.h"
#include "base/task_group.h"
#include "base/utf8.h"
#include "base/visible.h"

namespace reef::cli {
namespace {

constexpr std::chrono::milliseconds kOtherDaemonMax{10'000};
constexpr std::chrono::milliseconds kOtherDaemonPause{20};

Task<Status> connect(const Context& context, Start start, client::Client& client) {
  auto connected = co_await client.connect();
  if (connected || connected.error().code != Errc::unavailable) co_return connected;
  if (start == Start::never)
    co_return Error(Errc::unavailable,
                    "no daemon is running on " + context.home.root + "; `reef chat` starts one");
  if (!context.may_start)
    co_return Error(Errc::unavailable, "no daemon is running on " + context.home.root +
                                           ", and --no-start forbids to start one");
  const auto loop = co_await boost::asio::this_coro::executor;
  const auto deadline = steady_now(loop) + kOtherDaemonMax;
  for (;;) {
    const auto started = start_daemon(context.home);
    if (started) co_return co_await client.connect();
    if (!daemon::holder_of(context.home)) co_return started;
    // Another daemon holds the home: it is starting or ending.
    while (daemon::holder_of(context.home)) {
      connected = co_await client.connect();
      if (connected) co_return connected;
      if (steady_now(loop) > deadline) co_return started;
      co_await sleep_for(kOtherDaemonPause);
    }
  }
}

Task<void> run_body(const Context& context, Start start, client::Client& client,
                    const std::function<Task<Status>(client::Client&)>& body, Status& outcome) {
  outcome = co_await connect(context, start, client);
  if (outcome) outcome = co_await body(client);
  client.close();
}

bool put(std::string_view bytes) {
  return std::fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size();
}

// The length of one of this program's own styles at the front of the text; 0 when there is none.
std::size_t own_style(std::string_view text) {
  for (const std::string_view style : {"\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[1;33m"})
    if (text.starts_with(style)) return style.size();
  return 0;
}

}  // namespace

bool Context::color() const {
  const char* no_color = std::getenv("NO_COLOR");
  return ::isatty(STDOUT_FILENO) == 1 && (!no_color || !*no_color);
}

int with_client(const Context& context, std::string_view command, Start start,
                const std::function<Task<Status>(client::Client&)>& body) {
  boost::asio::io_context io(1);
  Status outcome = Error(Errc::internal, "ended unexpectedly");
  client::Endpoint endpoint;
  endpoint.unix_path = context.home.socket();
  client::Client client(io.get_executor(), std::move(endpoint));
  TaskGroup main(io.get_executor(), "reef");
  main.spawn(run_body(context, start, client, body, outcome));
  io.run();
  std::fflush(stdout);
  if (std::ferror(stdout)) outcome = Error(Errc::io, "could not write to standard output");
  return outcome ? 0 : report(command, outcome.error());
}

Task<Status> expect_pong(const Context& context, client::Client& client,
                         protocol::ClientMessage message, std::string said) {
  REEF_CO_TRY(
      const auto answer,
      co_await client.request(std::move(message), client::Client::Repeat::never, kAnswerMax));
  if (!answer.has_pong()) co_return Error(Errc::unavailable, "the daemon gave another answer");
  if (context.json) {
    print_json(json::object{{"ok", true}});
  } else {
    print_line(said);
  }
  co_return Ok{};
}

std::string shown(std::string_view text) {
  return utf8::single_line(utf8::visible(text));
}

Error out_of_turn() {
  return Error(Errc::unavailable, "the daemon sent pieces of files out of turn");
}

Output::Output() : terminal_(::isatty(STDOUT_FILENO) == 1) {}

bool Output::write(std::string_view bytes) {
  if (!terminal_) return put(bytes);
  return put(text_.take(bytes));
}

bool Output::end() {
  return put(text_.end());
}

void print_line(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const auto at = std::min(text.find('\x1b'), text.size());
    out += utf8::visible(text.substr(0, at));
    text.remove_prefix(at);
    const auto length = own_style(text);
    out += text.substr(0, length);
    text.remove_prefix(length);
    if (length > 0 || text.empty()) continue;
    out += utf8::visible(text.substr(0, 1));
    text.remove_prefix(1);
  }
  out.push_back('\n');
  put(out);
}

void print_json(const json::value& value) {
  put(utf8::escape_unseen(json::write(value)) + "\n");
}

int report(std::string_view command, const Error& error) {
  const auto line = fmt::format("reef: {}: {}\n", command, shown(error.what));
  std::fflush(stdout);
  std::fputs(line.c_str(), stderr);
  return traits(error.code).exit_code;
}

std::string short_age(TimePoint then, TimePoint now) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - then).count();
  if (seconds < 60) return fmt::format("{} s", std::max<std::int64_t>(seconds, 0));
  if (seconds < 3600) return fmt::format("{} m", seconds / 60);
  if (seconds < 86'400) return fmt::format("{} h", seconds / 3600);
  return fmt::format("{} d", seconds / 86'400);
}

std::string human_bytes(std::uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  if (bytes < 1024 * 1024) return fmt::format("{:.1f} KB", double(bytes) / 1024);
  return fmt::format("{:.1f} MB", double(bytes) / (1024 * 1024));
}

}  // namespace reef::cli
