#include "store/fs/fs_watch.h"

#include <array>
#include <cerrno>
#include <map>
#include <sys/inotify.h>
#include <unistd.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <fmt/format.h>

#include "base/files.h"
#include "base/log.h"

namespace reef::store {
namespace {

// Below one watch; what lies in more of them is not told of.
constexpr std::size_t kFoldersMax = 1000;
constexpr std::size_t kEventBytes = 16U << 10;
// Between two turns of the loop.
constexpr int kReadsMax = 16;

constexpr std::uint32_t kEvents = IN_CREATE | IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM |
                                  IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;

std::string joined(const std::string& folder, std::string_view name) {
  return folder.empty() ? std::string(name) : fmt::format("{}/{}", folder, name);
}

}  // namespace

struct FsWatch::State : std::enable_shared_from_this<FsWatch::State> {
  State(const Executor& loop, int fd) : inotify(loop, fd) {}

  boost::asio::posix::stream_descriptor inotify;
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
    const int wd = ::inotify_add_watch(inotify.native_handle(), path.c_str(), kEvents);
    if (wd < 0) {
      if (errno == ENOSPC) log::warn("{} is not watched: too many folders are", relative);
      return false;
    }
    folders[wd] = relative;
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

  void take(const ::inotify_event& event) {
    if ((event.mask & IN_Q_OVERFLOW) != 0) return tell(what);
    const auto found = folders.find(event.wd);
    if (found == folders.end()) return;
    const auto where = found->second;
    if ((event.mask & (IN_IGNORED | IN_DELETE_SELF | IN_MOVE_SELF)) != 0) {
      // A folder that was moved away is followed no further.
      if ((event.mask & IN_MOVE_SELF) != 0) ::inotify_rm_watch(inotify.native_handle(), event.wd);
      folders.erase(found);
      if (armed && where != folder) return tell(what);
      if (armed) tell(what);
      return arm();
    }
    const std::string_view name = event.len > 0 ? std::string_view(event.name) : "";
    const auto path = joined(where, name);
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
    if (name.ends_with(".tmp")) return;
    if (is_deep() || path == what) tell(path);
  }

  void wait() {
    inotify.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                       [self = shared_from_this()](const boost::system::error_code& failed) {
                         if (failed || self->ended) return;
                         self->read();
                         if (!self->ended) self->wait();
                       });
  }

  void read() {
    alignas(::inotify_event) std::array<char, kEventBytes> buffer;
    for (int reads = 0; reads < kReadsMax && !ended; ++reads) {
      const auto got = ::read(inotify.native_handle(), buffer.data(), buffer.size());
      if (got <= 0) return;
      for (std::size_t at = 0; at < static_cast<std::size_t>(got) && !ended;) {
        const auto& event = *reinterpret_cast<const ::inotify_event*>(buffer.data() + at);
        take(event);
        at += sizeof event + event.len;
      }
    }
  }
};

Result<std::unique_ptr<session::Documents::Watch>> FsWatch::begin(
    Executor loop, std::string home, std::string folder, std::string what,
    session::Documents::Changed changed) {
  const int fd = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (fd < 0) return sys_error(errno, "watch " + what);
  auto state = std::make_shared<State>(loop, fd);
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
  boost::system::error_code ignored;
  state_->inotify.close(ignored);
}

}  // namespace reef::store
