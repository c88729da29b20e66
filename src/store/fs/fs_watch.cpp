#include "store/fs/fs_watch.h"

#include <map>
#include <sys/inotify.h>

#include <fmt/format.h>

#include "base/files.h"
#include "base/log.h"
#include "store/fs/inotify.h"

namespace reef::store {
namespace {

// Below one watch; what lies in more of them is not told of.
constexpr std::size_t kFoldersMax = 1000;

constexpr std::uint32_t kFolderEvents = IN_CREATE | IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM |
                                        IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;

std::string joined(const std::string& folder, std::string_view name) {
  return folder.empty() ? std::string(name) : fmt::format("{}/{}", folder, name);
}

}  // namespace

struct FsWatch::State : std::enable_shared_from_this<FsWatch::State> {
  explicit State(std::unique_ptr<Inotify> from) : inotify(std::move(from)) {}

  std::unique_ptr<Inotify> inotify;
  std::string home, folder, what;
  session::Documents::Changed changed;
  std::map<int, std::string> folders;  // by watch descriptor, relative to the home
  bool armed = false;                  // the folder itself is watched, not one it will be in
  bool ended = false;

  bool is_deep() const { return what.ends_with('/'); }

  // Watches the folder or, as long as it is not there, the nearest one it will be in.
  void arm() {
    armed = false;
    for (auto at = folder;;) {
      if (add(at)) {
        armed = at == folder;
        if (armed && is_deep()) add_below(at, 0);
        return;
      }
      if (at.empty()) return;
      const auto slash = at.find_last_of('/');
      at = slash == std::string::npos ? "" : at.substr(0, slash);
    }
  }

  bool add(const std::string& relative) {
    const auto path = relative.empty() ? home : home + "/" + relative;
    const auto watch = inotify->add(path, kFolderEvents);
    if (!watch) {
      if (watch.error().code == Errc::no_space)
        log::warn("{} is not watched: too many folders are", relative);
      return false;
    }
    folders[*watch] = relative;
    return true;
  }

  void add_below(const std::string& relative, std::size_t depth) {
    if (depth >= session::kDocumentDepthMax) return;
    PosixFiles files;
    const auto names = files.list(home + "/" + relative);
    if (!names) return;
    for (const auto& name : *names) {
      if (folders.size() >= kFoldersMax) return;
      const auto inner = joined(relative, name);
      const auto stat = files.stat_path(home + "/" + inner);
      if (stat && stat->directory && add(inner)) add_below(inner, depth + 1);
    }
  }

  void tell(const std::string& name) {
    if (!ended) changed(name);
  }

  void take(const Inotify::Event& event) {
    if (ended) return;
    if ((event.mask & IN_Q_OVERFLOW) != 0) return tell(what);
    const auto found = folders.find(event.watch);
    if (found == folders.end()) return;
    const auto where = found->second;
    if ((event.mask & (IN_IGNORED | IN_DELETE_SELF | IN_MOVE_SELF)) != 0) {
      // A folder that was moved away is followed no further.
      if ((event.mask & IN_MOVE_SELF) != 0) inotify->remove(event.watch);
      folders.erase(found);
      if (armed && where != folder) return tell(what);
      if (armed) tell(what);
      return arm();
    }
    const auto path = joined(where, event.name);
    if (!armed) {
      // Perhaps the folder has come, and something in it with it.
      if (folder != path && !folder.starts_with(path + "/")) return;
      folders.clear();
      arm();
      if (armed) tell(what);
      return;
    }
    if ((event.mask & IN_ISDIR) != 0) {
      if (!is_deep()) return;
      if ((event.mask & (IN_CREATE | IN_MOVED_TO)) != 0 && folders.size() < kFoldersMax &&
          add(path))
        add_below(path, 1);
      return tell(what);
    }
    if (event.name.ends_with(".tmp")) return;
    if (is_deep() || path == what) tell(path);
  }

  void wait() {
    inotify->wait([self = shared_from_this()] {
      if (self->ended) return;
      self->inotify->read([&](const Inotify::Event& event) { self->take(event); });
      if (!self->ended) self->wait();
    });
  }
};

Result<std::unique_ptr<session::Documents::Watch>> FsWatch::begin(
    Executor loop, std::string home, std::string folder, std::string what,
    session::Documents::Changed changed) {
  auto inotify = Inotify::begin(loop);
  if (!inotify) return std::move(inotify).error().with("watch " + what);
  auto state = std::make_shared<State>(*std::move(inotify));
  state->home = std::move(home);
  state->folder = std::move(folder);
  state->what = std::move(what);
  state->changed = std::move(changed);
  state->arm();
  state->wait();
  return std::unique_ptr<session::Documents::Watch>(
      std::unique_ptr<FsWatch>(new FsWatch(std::move(state))));
}

FsWatch::~FsWatch() {
  state_->ended = true;
  state_->inotify->end();
}

}  // namespace reef::store
