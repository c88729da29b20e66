// Children of the daemon: each in a session and process group of its own, with pipes, stopped and
// reaped by whoever started it. Loop thread only.
//
// Between the daemon and each child stands a keeper, a tiny program of its own (keeper/keeper.cpp)
// that adopts whatever the child leaves behind. It ends them all when the Child is destroyed or the
// daemon dies, by whatever signal: also those that left the group or made themselves daemons.
#pragma once

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
// docs/sandbox.md tells exactly what each covers.
struct Sandbox {
  bool read_only = false;   // nothing may be written, made or removed, but `writable`
  bool no_network = false;  // no socket but those it makes a pair of
  std::vector<std::filesystem::path> writable = {};  // these, and what is in them; they must exist
};

struct Command {
  std::vector<std::string> argv;   // argv[0] is looked up in PATH of `environment`
  std::filesystem::path cwd = {};  // empty: the daemon's
  // The whole environment of the child; nothing is inherited.
  std::map<std::string, std::string> environment = {};
  bool keep_stdin = false;    // false: it reads /dev/null
  bool merge_output = false;  // stderr goes where stdout goes
  std::optional<Sandbox> sandbox = {};
  std::optional<unsigned> umask = {};  // none: the daemon's
};

struct Exit {
  int code = 0;    // of an end by itself
  int signal = 0;  // 0: none
};

// Destroying it kills the child and everything it started (SIGKILL); all are reaped in any case.
// None outlives the daemon, however that ends.
class Child {
 public:
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Also the number of its group and session.
  int pid() const;
  // Some bytes of stdout or stderr; nothing at their end, which comes when all who have them open
  // are gone. Cancellable. One reader each.
  Task<Result<std::optional<std::string>>> read_output();
  Task<Result<std::optional<std::string>>> read_errors();
  // All of it. Fails when the child has closed its stdin. One writer.
  Task<Status> write_input(std::string bytes);
  void close_input();
  // The end of the child itself; what it left in the background runs on until this is destroyed.
  // Cancellable, and then the child runs on.
  Task<Exit> wait();
  // The whole group; harmless when it is gone.
  void signal_group(int number);

 private:
  friend Task<Result<std::unique_ptr<Child>>> start(Command command);
  struct State;
  explicit Child(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

// Returns when the program runs. The error says what could not be run and why (no such program, no
// such folder, ...). Cancellable, and then nothing is left running.
Task<Result<std::unique_ptr<Child>>> start(Command command);

// What of the sandbox this kernel cannot do, in words for the user; empty: it can do all.
std::string what_is_missing(const Sandbox& sandbox);

}  // namespace reef::process
