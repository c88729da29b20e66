// Messages on their way into their conversations. The folder a message wants to work in is looked
// for by other threads, because a disk may not answer; a message without one need not wait. Each
// conversation gets its messages in the order they came, and a kill finds those that are still on
// their way. Loop thread only.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/notify.h"
#include "base/pool.h"
#include "base/result.h"
#include "base/task_group.h"
#include "runtime/runtime.h"

namespace reef::server {

class Entrance {
 public:
  struct Options {
    // How long a folder is waited for. A look that takes longer goes on without anybody.
    std::chrono::milliseconds patience{5'000};
    // Folders that are looked for at the same time. Each one that hangs keeps a thread until its
    // disk answers, so the threads are this object's own.
    std::size_t looks_max = 32;
    // Blocks; any thread.
    std::function<bool(const std::string& path)> is_folder = {};  // none: asks the disk
  };
  // `runtime` outlives it.
  Entrance(Executor loop, runtime::Runtime& runtime, Options options);
  Entrance(Executor loop, runtime::Runtime& runtime);
  Entrance(const Entrance&) = delete;
  Entrance& operator=(const Entrance&) = delete;

  // A message's place in the line of its conversation, until it is let in or destroyed.
  class Ticket;
  // Fails when the message can never be let in.
  Result<std::shared_ptr<Ticket>> draw(const runtime::Message& message);
  // Submits the message (once, when its client named it) when its folder is there and those before
  // it are in. An error when there is no such folder, or nobody knows in time.
  Task<Result<std::shared_ptr<runtime::Run>>> let_in(std::shared_ptr<Ticket> ticket,
                                                     runtime::Message message);
  // Whether the message may be submitted without all that.
  bool is_free(const runtime::Message& message) const;

  // Kills in the runtime, and on the way to it: what is about to run, and with `all` what waits.
  Status kill(std::string_view agent, std::string_view sender,
              const std::optional<std::string>& key, bool all);

  // Checks a folder that is to be worked in: none, or one that exists, because another would
  // silently be taken instead. `name`: of the field that names it.
  Task<Status> check_folder(std::string name, std::string path);

  // Shutdown: looks that hang are left behind.
  Task<void> stop();

 private:
  struct Look {
    std::optional<Result<bool>> found;
  };
  bool cancel(std::string_view agent, std::string_view sender,
              const std::optional<std::string>& key, bool all);
  // The conversation of a message; empty for one of its own.
  Result<std::string> line_of(const runtime::Message& message) const;
  // `stop` ends the wait.
  Task<Status> check(std::string name, std::string path, std::function<bool()> stop);
  Task<void> look_at(std::string path, std::shared_ptr<Look> look);

  runtime::Runtime& runtime_;
  Options options_;
  std::map<std::string, std::deque<Ticket*>> lines_;
  std::map<std::string, std::shared_ptr<Look>> looks_;
  Notify changed_;
  Pool pool_;
  TaskGroup tasks_;
};

}  // namespace reef::server
