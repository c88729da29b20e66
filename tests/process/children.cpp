#include "process/children.h"

#include "support/run.h"

namespace reef::test {

process::Command shell_command(const std::string& script) {
  process::Command command;
  command.argv = {"bash", "-c", script};
  command.environment = {{"PATH", "/usr/local/bin:/usr/bin:/bin"}, {"LC_ALL", "C"}};
  return command;
}

Task<std::string> all_output(process::Child& child) {
  std::string all;
  for (;;) {
    const auto some = value_of(co_await child.read_output());
    if (!some) co_return all;
    all += *some;
  }
}

Task<std::string> all_errors(process::Child& child) {
  std::string all;
  for (;;) {
    const auto some = value_of(co_await child.read_errors());
    if (!some) co_return all;
    all += *some;
  }
}

namespace {

// Errors are read after the output, so they must fit into a pipe.
Task<void> run_to_end(process::Command command, Ran& ran) {
  const auto child = value_of(co_await process::start(std::move(command)));
  ran.output = co_await all_output(*child);
  ran.errors = co_await all_errors(*child);
  ran.exit = co_await child->wait();
}

}  // namespace

Ran run_command(boost::asio::io_context& io, process::Command command) {
  Ran ran;
  run(io, run_to_end(std::move(command), ran));
  return ran;
}

}  // namespace reef::test
