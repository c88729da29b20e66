// Children of the daemon: each in a process group of its own, with pipes, stopped and reaped by
// whoever started it. Loop thread only.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/task.h"

namespace reef::process {

// What the kernel keeps a child from; whatever cannot be had is said by what_is_missing().
struct Sandbox {
  bool read_only = false;   // nothing may be written, made or removed, but `writable`
  bool no_network = false;  // no socket but those it makes a pair of
  std::vector<std::filesystem::path> writable = {};
};

struct Command {
  std::vector<std::string> argv;   // argv[0] is looked up in PATH
  std::filesystem::path cwd = {};  // empty: the daemon's
  // The whole environment of the child; nothing is inherited.
  std::map<std::string, std::string> environment = {};
  bool keep_stdin = false;    // false: it reads /dev/null
  bool merge_output = false;  // stderr goes where stdout goes
  std::optional<Sandbox> sandbox = {};
};

struct Exit {
  int code = 0;    // of an end by itself
  int signal = 0;  // 0: none
};

// Destroying it kills the group (SIGKILL); the child is reaped in any case. A child never outlives
// the daemon, however that ends.
class Child {
 public:
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  int pid() const;
  // Some bytes of stdout or stderr; nothing at their end. Cancellable.
  Task<Result<std::optional<std::string>>> read_output();
  Task<Result<std::optional<std::string>>> read_errors();
  // All of it. Fails when the child has closed its stdin.
  Task<Status> write_input(std::string bytes);
  void close_input();
  // Cancellable, and then the child runs on.
  Task<Exit> wait();
  // The whole group; harmless when it is gone.
  void signal_group(int number);

 private:
  friend Result<std::unique_ptr<Child>> start(Executor loop, Command command);
  struct State;
  explicit Child(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

// The error says what could not be run and why (no such program, no such folder, ...).
Result<std::unique_ptr<Child>> start(Executor loop, Command command);

// What of the sandbox this kernel cannot do, in words for the user; empty: it can do all.
std::string what_is_missing(const Sandbox& sandbox);

}  // namespace reef::process
