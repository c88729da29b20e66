// chat: a person at a terminal, lines from a pipe, or one message.

#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <unistd.h>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <editline/readline.h>
#include <fmt/format.h>
#include <termios.h>

#include "base/task_group.h"
#include "base/utf8.h"
#include "commands.h"

namespace reef::cli {
namespace asio = boost::asio;
namespace {

struct TurnEnd {
  std::string reply;
  protocol::StreamEnd end;
};

// "search_sessions, recall", so that a person sees why it takes a moment. On stderr, and only for a
// person: what is piped on is the answer.
void show_calls(const protocol::ToolStart& start) {
  if (::isatty(STDERR_FILENO) != 1) return;
  std::string names;
  for (const auto& call : start.calls())
    names += (names.empty() ? "" : ", ") + utf8::excerpt(call.name());
  fmt::print(stderr, "\x1b[2m[{}]\x1b[0m\n", names);
}

// Prints the pieces as they come when `live`; a terminal never gets control characters.
Task<Result<TurnEnd>> take_turn(client::Client& client, client::Turn turn, bool live) {
  const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  REEF_CO_TRY(auto stream, co_await client.stream(std::move(turn)));
  TurnEnd out;
  for (;;) {
    REEF_CO_TRY(auto message, co_await stream.next());
    if (!message) break;
    if (!message->has_stream()) continue;
    const auto& event = message->stream();
    if (event.has_chunk()) {
      out.reply += event.chunk().content();
      if (live) {
        const auto piece =
            terminal ? utf8::printable(event.chunk().content()) : event.chunk().content();
        std::fwrite(piece.data(), 1, piece.size(), stdout);
        std::fflush(stdout);
      }
    } else if (event.has_tool_start()) {
      // What was said before a call is a line of its own.
      if (!out.reply.empty() && !out.reply.ends_with('\n')) {
        out.reply += '\n';
        if (live) print_line("");
      }
      if (live) show_calls(event.tool_start());
    } else if (event.has_end()) {
      out.end = event.end();
    }
  }
  if (live && !out.reply.empty()) print_line("");
  co_return out;
}

std::string current_directory() {
  char path[4096];
  return ::getcwd(path, sizeof path) ? path : "";
}

client::Turn make_turn(const ChatOptions& options, std::string_view content) {
  return client::Turn{
      options.agent, options.sender, utf8::sanitize(content), utf8::sanitize(current_directory()),
      options.key,   options.guest};
}

json::object usage_json(const protocol::TokenUsage& usage) {
  return json::object{{"promptTokens", usage.prompt_tokens()},
                      {"completionTokens", usage.completion_tokens()},
                      {"totalTokens", usage.total_tokens()}};
}

// One message in, one answer out.
Task<Status> one_turn(const Context& context, client::Client& client, const ChatOptions& options,
                      std::string content) {
  auto turn = co_await take_turn(client, make_turn(options, content), !context.json);
  if (!turn) co_return std::move(turn).error();
  if (context.json) {
    const auto& end = turn->end;
    print_json(json::object{
        {"agent", end.agent()},
        {"sender", options.sender.empty() ? "user" : options.sender},
        {"session", end.session_id()},
        {"model", end.model()},
        {"reply", turn->reply},
        {"usage", usage_json(end.usage())},
        {"error", end.error().empty() ? json::value(nullptr) : json::value(end.error())},
    });
  }
  if (!turn->end.error().empty()) co_return Error(Errc::provider, turn->end.error());
  co_return Ok{};
}

// Lines of a pipe, each a message. An empty stdin asks how the daemon is.
Task<Status> from_pipe(const Context& context, client::Client& client, const ChatOptions& options) {
  Status outcome = Ok{};
  bool any = false;
  for (std::string line; std::getline(std::cin, line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (utf8::single_line(line).empty()) continue;
    any = true;
    auto done = co_await one_turn(context, client, options, line);
    if (done) continue;
    // The rest is still said; the exit code tells.
    report("chat", done.error());
    outcome = Error(done.error().code, "not every message was answered");
  }
  if (!any) co_return co_await print_status(context, client);
  co_return outcome;
}

// While an answer comes, Ctrl-C cancels it instead of ending the program.
Task<void> cancel_on_interrupt(client::Client& client, const ChatOptions& options) {
  asio::signal_set interrupt(co_await asio::this_coro::executor, SIGINT);
  boost::system::error_code failed;
  co_await interrupt.async_wait(asio::redirect_error(asio::use_awaitable, failed));
  if (!failed) static_cast<void>((co_await client.kill(options.agent, options.sender)).ok());
}

// While an answer comes, what is typed waits for the prompt, unseen and unchanged: Ctrl-D too.
class QuietTerminal {
 public:
  QuietTerminal() : known_(::tcgetattr(STDIN_FILENO, &before_) == 0) {
    if (!known_) return;
    auto quiet = before_;
    quiet.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    ::tcsetattr(STDIN_FILENO, TCSADRAIN, &quiet);
  }
  ~QuietTerminal() {
    if (known_) ::tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
  }
  QuietTerminal(const QuietTerminal&) = delete;
  QuietTerminal& operator=(const QuietTerminal&) = delete;

 private:
  termios before_ = {};
  bool known_;
};

void print_help() {
  print_line("Type a message and press Enter. Ctrl-C stops an answer, Ctrl-D leaves.");
  print_line("/help  this text    /quit  leave");
}

// nullopt at the end of input.
std::optional<std::string> prompt_line() {
  char* line = ::readline("> ");
  if (!line) return std::nullopt;
  std::string text(line);
  if (!text.empty()) ::add_history(line);
  std::free(line);
  return text;
}

Task<Status> at_terminal(const Context& context, client::Client& client,
                         const ChatOptions& options) {
  REEF_CO_TRY(const auto stats, co_await client.stats());
  const auto who = options.agent.empty() ? "model " + stats.active_model()
                                         : "agent " + utf8::printable(options.agent);
  print_line(fmt::format("reef {}, {}. /help for help.", stats.version(), who));
  for (;;) {
    const auto line = prompt_line();
    if (!line) break;
    const auto words = utf8::single_line(*line);
    if (words.empty()) continue;
    if (words == "/quit" || words == "/exit") co_return Ok{};
    if (words == "/help") {
      print_help();
      continue;
    }
    const QuietTerminal quiet;
    TaskGroup watch(co_await asio::this_coro::executor, "interrupt");
    watch.spawn(cancel_on_interrupt(client, options));
    const auto done = co_await one_turn(context, client, options, *line);
    watch.cancel();
    co_await watch.join();
    if (!done) {
      report("chat", done.error());
      if (done.error().code == Errc::unavailable) {
        const auto again = co_await client.connect();
        if (!again) co_return again;
      }
    }
  }
  print_line("");
  co_return Ok{};
}

}  // namespace

int run_chat(const Context& context, const ChatOptions& options) {
  // Line editing counts characters by the locale; without one, text beyond ASCII would be garbled.
  std::setlocale(LC_ALL, "");
  if (MB_CUR_MAX == 1) std::setlocale(LC_CTYPE, "C.UTF-8");
  return with_client(context, options.command, Start::if_needed, [&](client::Client& client) {
    if (options.message) return one_turn(context, client, options, *options.message);
    if (::isatty(STDIN_FILENO) == 1) return at_terminal(context, client, options);
    return from_pipe(context, client, options);
  });
}

}  // namespace reef::cli
