#include <csignal>
#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/system/system_error.hpp>
#include <fmt/format.h>

#include "base/files.h"
#include "process/child.h"
#include "process/keeper/plan.h"
#include "process/keeper_image.h"
#include "process/pretence.h"

namespace reef::process {
namespace asio = boost::asio;
namespace {

struct Pipe {
  Fd ours;
  Fd childs;
};

Result<Pipe> make_pipe(bool child_writes) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return sys_error(errno, "no pipe for a child");
  Pipe pipe{Fd(ends[child_writes ? 0 : 1]), Fd(ends[child_writes ? 1 : 0])};
  return pipe;
}

Result<Pipe> make_control() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return sys_error(errno, "no socket for a child's keeper");
  Pipe pair{Fd(ends[0]), Fd(ends[1])};
  return pair;
}

// The plan as bytes; an error when no program could be started so.
Result<std::string> plan_of(const Command& command) {
  if (command.argv.empty() || command.argv.front().empty())
    return Error(Errc::invalid, "there is no program to run");
  Plan plan;
  std::string text;
  const auto add = [&text](std::string_view word, std::string_view what) -> Status {
    if (word.find('\0') != std::string_view::npos)
      return Error(Errc::invalid, fmt::format("{} holds a NUL byte", what));
    text.append(word).push_back('\0');
    return Ok{};
  };
  REEF_CHECK(add(command.cwd.native(), "the folder to run in"));
  for (const auto& word : command.argv) REEF_CHECK(add(word, "an argument"));
  for (const auto& [name, value] : command.environment) {
    if (name.empty() || name.find('=') != std::string::npos)
      return Error(Errc::invalid, fmt::format("'{}' cannot name a variable", name));
    REEF_CHECK(add(fmt::format("{}={}", name, value), "a variable"));
  }
  plan.arguments = static_cast<std::uint32_t>(command.argv.size());
  plan.variables = static_cast<std::uint32_t>(command.environment.size());
  if (command.umask) plan.umask = static_cast<std::int32_t>(*command.umask & 0777);
  if (command.sandbox) {
    plan.landlock = usable_landlock();
    plan.read_only = command.sandbox->read_only ? 1 : 0;
    plan.no_network = command.sandbox->no_network ? 1 : 0;
    plan.writables = static_cast<std::uint32_t>(command.sandbox->writable.size());
    for (const auto& path : command.sandbox->writable)
      REEF_CHECK(add(path.native(), "a writable path"));
  }
  constexpr std::size_t kTextBytesMax = 8U << 20;  // the kernel takes less
  if (text.size() > kTextBytesMax)
    return Error(Errc::too_large,
                 fmt::format("the command line and its environment have {} bytes", text.size()));
  plan.text_bytes = static_cast<std::uint32_t>(text.size());
  std::string bytes(reinterpret_cast<const char*>(&plan), sizeof plan);
  return bytes + text;
}

Result<pid_t> spawn_keeper(int program, int in, int out, int errors, int control) {
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_t actions;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_init(&actions);
  sigset_t none;
  sigset_t all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setflags(
      &attributes,
      static_cast<short>(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID));
  const int wanted[] = {in, out, errors, control};
  for (int fd = 0; fd <= kControlFd; ++fd)
    ::posix_spawn_file_actions_adddup2(&actions, wanted[fd], fd);
  const auto path = fmt::format("/proc/self/fd/{}", program);
  char name[] = "reef-keeper";
  char* arguments[] = {name, nullptr};
  char* environment[] = {nullptr};
  pid_t keeper = 0;
  const int error =
      ::posix_spawn(&keeper, path.c_str(), &actions, &attributes, arguments, environment);
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (error != 0) return sys_error(error, "no process for a child's keeper");
  return keeper;
}

// Reaps the keeper when it has ended. Belongs to the loop and keeps it running until then.
struct Reaper : std::enable_shared_from_this<Reaper> {
  Reaper(Executor loop, pid_t keeper_pid, int pidfd) : keeper(keeper_pid), end(loop, pidfd) {}
  ~Reaper() { ::waitpid(keeper, nullptr, WNOHANG); }
  void wait() {
    end.async_wait(Stream::wait_read, [self = shared_from_this()](boost::system::error_code) {});
  }
  pid_t keeper;
  Stream end;
};

// Moves a descriptor above the four numbers the keeper uses, so that none is overwritten before it
// is copied.
Result<Fd> lifted(Fd fd) {
  const int copy = ::fcntl(fd.get(), F_DUPFD_CLOEXEC, 10);
  if (copy < 0) return sys_error(errno, "no descriptor for a child");
  return Fd(copy);
}

Error why_not(const Command& command, const Report& report) {
  const auto& program = command.argv.front();
  switch (report.stage) {
    case Stage::folder:
      return sys_error(report.error,
                       fmt::format("cannot run '{}' in {}", program, command.cwd.native()));
    case Stage::writable:
      return sys_error(
          report.error,
          fmt::format(
              "the sandbox's writable path {}",
              command.sandbox->writable.at(static_cast<std::size_t>(report.which)).native()));
    case Stage::sandbox:
      return sys_error(report.error, "the sandbox could not be put on");
    case Stage::program:
      if (report.error == ENOENT && program.find('/') == std::string::npos)
        return Error(Errc::not_found, fmt::format("no program '{}' in PATH", program), ENOENT);
      return sys_error(report.error, fmt::format("cannot run '{}'", program));
    case Stage::keeper:
      break;
  }
  return sys_error(report.error, fmt::format("cannot run '{}'", program));
}

}  // namespace

Task<Result<std::unique_ptr<Child>>> start(Command command) {
  const Executor loop = co_await asio::this_coro::executor;
  REEF_CO_TRY(const auto plan, plan_of(command));
  REEF_CO_TRY(const int program, keeper_program());

  Pipe input;
  if (command.keep_stdin) {
    REEF_CO_TRY(input, make_pipe(false));
  } else {
    input.childs = Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!input.childs) co_return sys_error(errno, "/dev/null");
  }
  REEF_CO_TRY(Pipe output, make_pipe(true));
  Pipe errors;
  if (!command.merge_output) {
    REEF_CO_TRY(errors, make_pipe(true));
  }
  REEF_CO_TRY(Pipe control, make_control());
  for (auto* pipe : {&input, &output, &errors, &control})
    if (pipe->childs) {
      REEF_CO_TRY(pipe->childs, lifted(std::move(pipe->childs)));
    }

  const auto state = std::make_shared<Child::State>(loop);
  if (input.ours) state->input.assign(input.ours.release());
  state->output.assign(output.ours.release());
  if (errors.ours) state->errors.assign(errors.ours.release());
  state->control.assign(control.ours.release());

  REEF_CO_TRY(const auto keeper,
              spawn_keeper(program, input.childs.get(), output.childs.get(),
                           command.merge_output ? output.childs.get() : errors.childs.get(),
                           control.childs.get()));
  const int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, keeper, 0));
  if (pidfd < 0) {
    const int error = errno;
    ::kill(keeper, SIGKILL);
    ::waitpid(keeper, nullptr, 0);
    co_return sys_error(error, "pidfd_open (Linux 5.3)");
  }
  std::make_shared<Reaper>(loop, keeper, pidfd)->wait();
  for (auto* pipe : {&input, &output, &errors, &control}) pipe->childs.reset();

  // From here on `child` kills everything when this task is cancelled.
  std::unique_ptr<Child> child(new Child(state));
  boost::system::error_code failed;
  co_await asio::async_write(state->control, asio::buffer(plan),
                             asio::redirect_error(asio::use_awaitable, failed));
  if (!failed)
    co_await asio::async_read(state->control, asio::buffer(&state->report, sizeof(Report)),
                              asio::redirect_error(asio::use_awaitable, failed));
  if (failed == asio::error::operation_aborted) throw boost::system::system_error(failed);
  if (failed)
    co_return Error(Errc::io,
                    fmt::format("cannot run '{}': its keeper ended", command.argv.front()));
  if (state->report.kind == Report::Kind::failed) co_return why_not(command, state->report);
  state->pid = state->report.pid;
  state->watch();
  co_return child;
}

}  // namespace reef::process
