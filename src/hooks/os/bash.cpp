// bash runs one command in a process group of its own, with a time limit.

#include <csignal>

#include <fmt/format.h>

#include "base/task_group.h"
#include "base/utf8.h"
#include "hooks/os/output.h"
#include "hooks/os/tools.h"
#include "process/process.h"

namespace reef::hooks::os {
namespace {

using runtime::ToolAnswer;
using Type = Parameter::Type;

constexpr std::int64_t kSecondsDefault = 120, kSecondsMax = 3600;
constexpr std::size_t kCommandBytesMax = 100'000;  // the kernel takes 131,072 in one argument
// The time a command gets to end before it is killed.
constexpr std::chrono::milliseconds kGrace{1000};
// The time to read what is still in the pipe after the command ended, because a process outside of
// its group may hold the pipe open.
constexpr std::chrono::milliseconds kDrainMax{300};
constexpr std::chrono::seconds kReapMax{5};

const Parameter kTimeout{.name = "timeout",
                         .type = Type::integer,
                         .description = "Seconds it may take; 120 if not given.",
                         .min = 1,
                         .max = kSecondsMax};

// 20260102-030405
std::string stamp_of(TimePoint time) {
  std::string out;
  for (const char c : format_iso(time).substr(0, 19)) {
    if (c == 'T') out += '-';
    if (c >= '0' && c <= '9') out += c;
  }
  return out;
}

struct Running {
  Running(Executor on, std::unique_ptr<process::Child> started, Output collected, Progress told)
      : loop(on),
        child(std::move(started)),
        output(std::move(collected)),
        progress(std::move(told)),
        changed(std::move(on)) {}

  Executor loop;
  std::unique_ptr<process::Child> child;
  Output output;
  Progress progress;
  bool at_end = false;
  std::optional<process::Exit> exit;
  Notify changed;
};

Task<void> collect(std::shared_ptr<Running> running) {
  co_await yield_to_loop();
  for (;;) {
    auto piece = co_await running->child->read_output();
    if (!piece || !*piece) break;
    running->progress.take(**piece, steady_now(running->loop));
    co_await running->output.take(std::move(**piece));
  }
  running->at_end = true;
  running->changed.notify_all();
}

Task<void> await_end(std::shared_ptr<Running> running) {
  co_await yield_to_loop();
  running->exit = co_await running->child->wait();
  running->changed.notify_all();
}

// Kills the whole group however the call ends, also when it is cancelled.
struct Killer {
  std::shared_ptr<Running> running;
  ~Killer() { running->child->signal_group(SIGKILL); }
};

Task<void> until_ended(Running& running, std::chrono::milliseconds patience) {
  static_cast<void>(
      co_await running.changed.wait_for(patience, [&] { return running.exit.has_value(); }));
}

ToolAnswer answer_from(const Running& running, Output::Shown shown, bool late,
                       std::int64_t seconds) {
  ToolAnswer answer{shown.text.empty() ? "(no output)" : std::move(shown.text)};
  if (!shown.path.empty()) answer.details["fullOutputPath"] = utf8::sanitize(shown.path);
  const auto say = [&](const std::string& words) {
    if (!answer.text.ends_with('\n')) answer.text += '\n';
    answer.text += words;
    answer.is_error = true;
  };
  if (late) {
    answer.details["timedOut"] = true;
    say(fmt::format("[stopped: it took more than {} s. Give a larger timeout if it needs one]",
                    seconds));
  } else if (!running.exit) {
    say("[it could not be ended]");
  } else if (running.exit->signal != 0) {
    answer.details["signal"] = running.exit->signal;
    say(fmt::format("[ended by signal {}]", running.exit->signal));
  } else {
    answer.details["exitCode"] = running.exit->code;
    if (running.exit->code != 0) say(fmt::format("[exit code {}]", running.exit->code));
  }
  return answer;
}

}  // namespace

const Description kBash{
    "bash",
    "Run a command with bash in the working directory. Nothing can be typed into it. Its output "
    "(standard error included) comes back when it ends, and with it end all processes it started. "
    "Long output is cut in the middle; the answer names the file that has all of it.",
    {{.name = "command", .description = "The command.", .required = true}, kTimeout}};

Task<ToolAnswer> bash(const CallNeeds& needs, const json::object& arguments,
                      Environment environment, std::function<void(std::string)> progress) {
  if (const auto good = check(kBash, arguments); !good) co_return failed(good.error().what);
  const auto text = text_of(arguments, "command");
  if (text.find('\0') != std::string::npos) co_return failed("the command holds a NUL character");
  if (text.size() > kCommandBytesMax)
    co_return failed(
        fmt::format("the command has {} bytes; {} are possible. Write a script and run it",
                    text.size(), kCommandBytesMax));
  const auto seconds = integer_of(arguments, kTimeout, kSecondsDefault);

  process::Command command;
  command.argv = {"bash", "--noprofile", "--norc", "-c", text};
  command.cwd = needs.paths.cwd;
  command.environment = std::move(environment.variables);
  command.merge_output = true;
  command.umask = needs.umask;
  std::string missing;
  if (environment.sandboxed) {
    command.sandbox = process::Sandbox{.read_only = true, .no_network = true};
    missing = process::what_is_missing(*command.sandbox);
  }
  auto child = co_await process::start(std::move(command));
  if (!child) co_return failed(std::move(child).error().what);
  Output output(needs.pool,
                {needs.documents, needs.session, needs.paths.session,
                 fmt::format("{}-bash", stamp_of(needs.now))},
                needs.shown_bytes);
  auto running = std::make_shared<Running>(needs.loop, *std::move(child), std::move(output),
                                           Progress(std::move(progress)));
  const Killer killer{running};
  TaskGroup tasks(needs.loop, "bash");
  tasks.spawn(collect(running));
  tasks.spawn(await_end(running));

  co_await until_ended(*running, std::chrono::seconds(seconds));
  const bool late = !running->exit;
  if (late) {
    running->child->signal_group(SIGTERM);
    co_await until_ended(*running, kGrace);
  }
  running->child->signal_group(SIGKILL);
  co_await until_ended(*running, kReapMax);
  const auto drained = [&] { return running->at_end; };
  static_cast<void>(co_await running->changed.wait_for(kDrainMax, drained));
  tasks.cancel();
  co_await tasks.join();
  auto answer = answer_from(*running, co_await running->output.finish(), late, seconds);
  if (environment.sandboxed) {
    answer.details["sandboxed"] = true;
    if (!missing.empty()) answer.details["sandboxLacks"] = missing;
  }
  co_return answer;
}

}  // namespace reef::hooks::os
