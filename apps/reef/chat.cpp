// chat: for a person at a terminal, for lines from a pipe, or for one message.

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
#include "base/visible.h"
#include "commands.h"
#include "node_rules.h"
#include "policy/reminder.h"
#include "slash.h"
#include "turn_view.h"

namespace reef::cli {
namespace asio = boost::asio;
namespace {

std::string current_directory() {
  char path[4096];
  return ::getcwd(path, sizeof path) ? path : "";
}

client::TurnRequest make_turn(const ChatOptions& options, std::string_view content) {
  return client::TurnRequest{options.agent,
                             options.sender,
                             utf8::sanitize(content),
                             utf8::sanitize(current_directory()),
                             options.key,
                             options.guest,
                             options.queue};
}

// Shows the turn; returns the error it ended with.
Task<Status> show_turn(const Context& context, client::Client& client, client::Stream stream,
                       std::string sender, Prompt prompt, bool verbose = false) {
  auto turn = co_await watch_turn(client, std::move(stream), !context.json, prompt, verbose);
  if (!turn) co_return std::move(turn).error();
  if (context.json) print_json(turn_json(*turn, sender));
  if (!turn->end.error().empty())
    co_return Error(errc_from_wire(turn->end.error_code()), turn->end.error());
  co_return Ok{};
}

// Sends one message and shows its answer.
Task<Status> one_turn(const Context& context, client::Client& client, const ChatOptions& options,
                      std::string content, Prompt prompt = {}, bool verbose = false) {
  auto turn = make_turn(options, content);
  // A broken configuration is reported by the daemon, not here.
  const auto config = node_config(context);
  const auto rules = config ? rules_of(*config) : policy::Rules::none();
  turn.context = co_await policy::reminder_for(client, turn, rules);
  REEF_CO_TRY(auto stream, co_await client.stream(std::move(turn)));
  co_return co_await show_turn(context, client, std::move(stream), options.sender, prompt, verbose);
}

Task<Status> read_along(const Context& context, client::Client& client,
                        const ChatOptions& options) {
  protocol::ClientMessage message;
  auto& request = *message.mutable_attach_run();
  request.set_agent(options.agent);
  request.set_sender(options.sender);
  if (options.key) request.set_key(*options.key);
  REEF_CO_TRY(auto stream, co_await client.open(std::move(message)));
  co_return co_await show_turn(context, client, std::move(stream), options.sender,
                               terminal_prompt());
}

// Takes lines of a pipe, each a message. An empty stdin prints the daemon's status.
Task<Status> from_pipe(const Context& context, client::Client& client, const ChatOptions& options) {
  Status outcome = Ok{};
  bool any = false;
  for (std::string line; std::getline(std::cin, line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (utf8::single_line(line).empty()) continue;
    any = true;
    auto done = co_await one_turn(context, client, options, line);
    if (done) continue;
    // The other lines are still sent; the exit code tells that one failed.
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

// While an answer comes, typed characters stay hidden and unchanged, Ctrl-D included, until the
// prompt.
class QuietTerminal {
 public:
  QuietTerminal() : known_(::tcgetattr(STDIN_FILENO, &before_) == 0) { quiet(); }
  ~QuietTerminal() { loud(); }
  void quiet() {
    if (!known_) return;
    auto quiet = before_;
    quiet.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    ::tcsetattr(STDIN_FILENO, TCSADRAIN, &quiet);
  }
  // Restores the terminal, to ask something in between.
  void loud() {
    if (known_) ::tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
  }
  QuietTerminal(const QuietTerminal&) = delete;
  QuietTerminal& operator=(const QuietTerminal&) = delete;

 private:
  termios before_ = {};
  bool known_;
};

// nullopt at the end of input.
std::optional<std::string> prompt_line(const char* prompt = "> ") {
  char* line = ::readline(prompt);
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
                                         : "agent " + utf8::visible(options.agent);
  print_line(fmt::format("reef {}, {}. /help for help.", stats.version(), who));
  ChatState state;
  for (;;) {
    const auto line = prompt_line();
    if (!line) break;
    const auto words = utf8::single_line(*line);
    if (words.empty()) continue;
    if (auto command = slash_command(*line)) {
      const auto done = co_await run_slash(context, client, options, *std::move(command), state);
      if (!done) report("chat", done.error());
      if (state.leave) co_return Ok{};
      continue;
    }
    co_await tell_compactions(client, options, state);
    QuietTerminal terminal;
    const Prompt ask = [&](const protocol::AskQuestion& question) {
      for (const auto& text : lines_of(question)) print_line(text);
      std::fflush(stdout);
      terminal.loud();
      auto typed = prompt_line("? ");
      while (typed && utf8::single_line(*typed).empty()) typed = prompt_line("? ");
      terminal.quiet();
      return typed;
    };
    TaskGroup watch(co_await asio::this_coro::executor, "interrupt");
    watch.spawn(cancel_on_interrupt(client, options));
    const auto done = co_await one_turn(context, client, options, *line, ask, state.verbose);
    watch.cancel();
    co_await watch.join();
    co_await tell_compactions(client, options, state);
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
    if (options.message)
      return one_turn(context, client, options, *options.message, terminal_prompt());
    if (::isatty(STDIN_FILENO) == 1) return at_terminal(context, client, options);
    return from_pipe(context, client, options);
  });
}

int run_read_along(const Context& context, const ChatOptions& options) {
  return with_client(context, "attach", Start::never,
                     [&](client::Client& client) { return read_along(context, client, options); });
}

}  // namespace reef::cli
