// Changes the daemon's configuration, one change at a time: each reads, decides and takes effect
// before the next begins. Loop thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/files.h"
#include "base/notify.h"
#include "base/pool.h"
#include "base/task.h"

namespace reef::daemon {

class ConfigChanges {
 public:
  struct Parts {
    Executor loop;
    Files& files;
    Pool& pool;
    std::string path;                      // of config.toml
    std::function<Task<Status>()> reload;  // reads config.toml again; all or nothing
  };
  explicit ConfigChanges(Parts parts) : parts_(std::move(parts)), free_(parts_.loop) {}

  // Does the work when no other change is under way. unavailable once stop() was called.
  Task<Status> alone(Task<Status> work);
  // Writes config.toml and reloads; when that fails, the old file is put back.
  using Edit = std::function<Result<std::string>(std::string_view text, std::string_view file)>;
  Task<Status> change(Edit edit) { return alone(change_held(std::move(edit))); }
  // The same, for work that is alone already.
  Task<Status> change_held(Edit edit);

  // Begins no further change.
  void stop() { stopping_ = true; }

 private:
  Parts parts_;
  bool busy_ = false;
  bool stopping_ = false;
  Notify free_;
};

}  // namespace reef::daemon
