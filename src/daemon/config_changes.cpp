#include "daemon/config_changes.h"

#include "base/log.h"

namespace reef::daemon {

Task<Status> ConfigChanges::alone(Task<Status> work) {
  co_await yield_to_loop();
  while (busy_) co_await free_.wait();
  busy_ = true;
  struct Release {
    ConfigChanges& changes;
    ~Release() {
      changes.busy_ = false;
      changes.free_.notify_all();
    }
  } const release{*this};
  if (stopping_) co_return Error(Errc::unavailable, "the daemon is shutting down");
  co_return co_await std::move(work);
}

Task<Status> ConfigChanges::change_held(Edit edit) {
  const auto path = parts_.path;
  auto& files = parts_.files;
  auto read = [&files, path] { return read_all(files, path); };
  auto before = co_await parts_.pool.run(read);
  const bool fresh = !before && before.error().code == Errc::not_found;
  if (!before && !fresh) co_return before.error();
  const auto text = fresh ? std::string() : *before;
  REEF_CO_TRY(const auto after, edit(text, path));
  auto write = [&files, path, after] { return replace_atomically(files, path, after); };
  REEF_CO_CHECK(co_await parts_.pool.run(write));
  auto loaded = co_await parts_.reload();
  if (loaded || stopping_) co_return loaded;
  auto undo = [&files, path, text] { return replace_atomically(files, path, text); };
  if (const auto undone = co_await parts_.pool.run(undo); !undone)
    log::error("config.toml could not be put back: {}", undone.error().what);
  co_return loaded;
}

}  // namespace reef::daemon
