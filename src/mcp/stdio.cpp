// A server that is a program: one message per line on its standard input and output.

#include <csignal>
#include <cstdlib>
#include <deque>

#include <fmt/format.h>

#include "base/log.h"
#include "base/notify.h"
#include "base/task_group.h"
#include "base/utf8.h"
#include "mcp/transport.h"
#include "process/process.h"
#include "rpc/lines.h"

namespace reef::mcp {
namespace {

constexpr std::size_t kQueueBytesMax = 64U << 20;
// How much of its stderr is reported when it ends, and how much goes to the log.
constexpr std::size_t kTailBytesMax = 1024;
constexpr std::size_t kLogLinesMax = 200;
constexpr std::size_t kLogLineBytesMax = 500;
constexpr std::chrono::milliseconds kEndGrace{500};   // after its input was closed
constexpr std::chrono::milliseconds kTermGrace{500};  // after SIGTERM

// The daemon's environment holds keys, so a server gets only these variables and those of its
// configuration.
constexpr const char* kPassed[] = {"PATH",     "HOME",   "USER",     "LOGNAME", "SHELL", "LANG",
                                   "LANGUAGE", "LC_ALL", "LC_CTYPE", "TZ",      "TMPDIR"};

std::map<std::string, std::string> environment_of(const Spec& spec) {
  std::map<std::string, std::string> out{{"PATH", "/usr/local/bin:/usr/bin:/bin"}};
  for (const auto* name : kPassed)
    if (const char* value = std::getenv(name)) out[name] = value;
  for (const auto& [name, value] : spec.env) out[name] = value;
  return out;
}

std::string folder_of(const Spec& spec) {
  if (!spec.cwd.empty()) return spec.cwd;
  const char* home = std::getenv("HOME");
  return home && *home == '/' ? home : "/";
}

struct State {
  State(const Executor& loop, Resolved resolved, Receiver heard)
      : server(std::move(resolved)), receiver(std::move(heard)), changed(loop) {}

  Resolved server;
  Receiver receiver;
  std::unique_ptr<process::Child> child;
  std::deque<std::string> queue;
  std::size_t queue_bytes = 0;
  std::string tail;  // the end of its stderr
  std::size_t logged = 0;
  bool closing = false;
  bool ended = false;  // nothing more is read or written
  Notify changed;

  void hear(std::string_view line) {
    auto message = rpc::message_from(line);
    if (!message) {
      // Programs may print other text; it is not a message and no reason to stop.
      log::debug("mcp {}: a line that is no message: {}", server.spec.name, message.error().what);
      return;
    }
    if (receiver.on_message && !closing) receiver.on_message({*std::move(message)});
  }

  void note_errors(std::string_view bytes, rpc::Lines& lines) {
    lines.feed(bytes);
    while (auto line = lines.next()) {
      const auto clean =
          utf8::excerpt(server.secrets.scrub(utf8::sanitize(*line)), kLogLineBytesMax);
      tail += (tail.empty() ? "" : "\n") + clean;
      if (tail.size() > kTailBytesMax) tail.erase(0, tail.size() - kTailBytesMax);
      if (++logged <= kLogLinesMax) log::debug("mcp {}: {}", server.spec.name, clean);
    }
  }

  void end(Error why) {
    if (std::exchange(ended, true)) return;
    queue.clear();
    queue_bytes = 0;
    changed.notify_all();
    if (receiver.on_closed && !closing) receiver.on_closed(std::move(why));
  }
};

Task<void> read_errors(std::shared_ptr<State> state) {
  co_await yield_to_loop();
  rpc::Lines lines(64U << 10);
  for (;;) {
    const auto piece = co_await state->child->read_errors();
    if (!piece || !*piece) co_return;
    state->note_errors(**piece, lines);
  }
}

std::string describe(const process::Exit& exit) {
  return exit.signal != 0 ? fmt::format("it was ended by signal {}", exit.signal)
                          : fmt::format("it ended with exit code {}", exit.code);
}

Task<void> read_messages(std::shared_ptr<State> state) {
  co_await yield_to_loop();
  rpc::Lines lines;
  std::size_t dropped = 0;
  for (;;) {
    const auto piece = co_await state->child->read_output();
    if (!piece || !*piece) break;
    lines.feed(**piece);
    while (const auto line = lines.next()) state->hear(*line);
    if (lines.dropped() != std::exchange(dropped, lines.dropped()))
      log::warn("mcp {}: a message of more than {} bytes was dropped", state->server.spec.name,
                rpc::kMessageBytesMax);
  }
  // The program's exit tells more than the end of its output. If it only closed that, this ends it.
  state->child->signal_group(SIGTERM);
  const auto exit = co_await state->child->wait();
  // The last lines of its stderr may still be on their way.
  co_await yield_to_loop();
  auto why = describe(exit);
  if (!state->tail.empty()) why += "; its last words: " + utf8::single_line(state->tail);
  state->end(Error(Errc::unavailable, std::move(why)));
}

Task<void> write_messages(std::shared_ptr<State> state) {
  co_await yield_to_loop();
  for (;;) {
    while (state->queue.empty() && !state->ended) co_await state->changed.wait();
    if (state->ended) co_return;
    auto line = std::move(state->queue.front());
    state->queue.pop_front();
    state->queue_bytes -= line.size();
    const auto written = co_await state->child->write_input(std::move(line));
    // The program's exit will tell why it stopped reading.
    if (!written) co_return;
  }
}

Task<void> await_exit(std::shared_ptr<State> state, bool& done) {
  co_await yield_to_loop();
  static_cast<void>(co_await state->child->wait());
  done = true;
  state->changed.notify_all();
}

class Stdio final : public Transport {
 public:
  Stdio(Executor loop, std::shared_ptr<State> state)
      : loop_(loop), state_(std::move(state)), tasks_(loop, "mcp stdio") {
    tasks_.spawn(read_messages(state_));
    tasks_.spawn(read_errors(state_));
    tasks_.spawn(write_messages(state_));
  }
  ~Stdio() override { state_->closing = true; }

  std::string_view kind() const override { return "stdio"; }

  Task<Status> send(Outgoing out) override {
    if (state_->ended || state_->closing)
      co_return Error(Errc::unavailable, "the server has ended");
    auto line = json::write(out.message) + "\n";
    // The program does not read its input.
    if (state_->queue_bytes + line.size() > kQueueBytesMax)
      co_return Error(Errc::busy, "the server does not read its input");
    state_->queue_bytes += line.size();
    state_->queue.push_back(std::move(line));
    state_->changed.notify_all();
    co_return Ok{};
  }

  Task<void> close() override {
    const auto state = state_;
    state->closing = true;
    bool gone = false;
    TaskGroup waiting(loop_, "mcp close");
    waiting.spawn(await_exit(state, gone));
    const auto is_gone = [&gone] { return gone; };
    state->child->close_input();
    if (!co_await state->changed.wait_for(kEndGrace, is_gone)) {
      state->child->signal_group(SIGTERM);
      static_cast<void>(co_await state->changed.wait_for(kTermGrace, is_gone));
    }
    state->child->signal_group(SIGKILL);
    tasks_.cancel();
    waiting.cancel();
    co_await tasks_.join();
    co_await waiting.join();
  }

 private:
  Executor loop_;
  std::shared_ptr<State> state_;
  TaskGroup tasks_;
};

}  // namespace

Task<Result<std::unique_ptr<Transport>>> start_stdio(Executor loop, Resolved server,
                                                     Receiver receiver) {
  process::Command command;
  command.argv.push_back(server.spec.command);
  for (const auto& arg : server.spec.args) command.argv.push_back(arg);
  command.cwd = folder_of(server.spec);
  command.environment = environment_of(server.spec);
  command.keep_stdin = true;
  auto child = co_await process::start(std::move(command));
  if (!child) {
    auto error = std::move(child).error();
    error.what = server.secrets.scrub(std::move(error.what));
    co_return error;
  }
  auto state = std::make_shared<State>(loop, std::move(server), std::move(receiver));
  state->child = *std::move(child);
  std::unique_ptr<Transport> out = std::make_unique<Stdio>(loop, std::move(state));
  co_return out;
}

}  // namespace reef::mcp
