#include "daemon/components.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include "base/files.h"
#include "base/log.h"
#include "base/notify.h"
#include "mcp/spec.h"

namespace reef::daemon {
namespace asio = boost::asio;
namespace {

constexpr std::string_view kPortSuffix = ".port";
constexpr std::size_t kPortBytesMax = 512;
constexpr std::size_t kComponentsMax = 1000;

// Ignores a file of another user, one that others may write, a pipe or a link, and a file with a
// token that others may read.
std::optional<PortText> read_port(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  struct ::stat info = {};
  if (!file || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode) ||
      (info.st_uid != ::geteuid() && info.st_uid != 0) || (info.st_mode & 0022) != 0)
    return std::nullopt;
  char bytes[kPortBytesMax];
  const auto got = ::read(file.get(), bytes, sizeof bytes);
  if (got <= 0) return std::nullopt;
  auto read = port_from(std::string_view(bytes, static_cast<std::size_t>(got)));
  if (read && !read->token.empty() && (info.st_mode & 0077) != 0) return std::nullopt;
  return read;
}

}  // namespace

std::optional<PortText> port_from(std::string_view text) {
  const auto without_end = [](std::string_view line) {
    return line.substr(0, line.find_last_not_of("\n\r ") + 1);
  };
  text = without_end(text);
  const auto line = text.find('\n');
  const auto digits = without_end(text.substr(0, line));
  PortText out;
  const auto* end = digits.data() + digits.size();
  const auto read = std::from_chars(digits.data(), end, out.port);
  if (read.ec != std::errc() || read.ptr != end || out.port < 1 || out.port > 65535)
    return std::nullopt;
  if (line == std::string_view::npos) return out;
  out.token = text.substr(line + 1);
  // The token must fit into an HTTP header as one word.
  const bool plain = std::all_of(out.token.begin(), out.token.end(),
                                 [](unsigned char c) { return c > 0x20 && c < 0x7F; });
  if (out.token.empty() || !plain) return std::nullopt;
  return out;
}

struct Components::Watch {
  Watch(const Executor& loop, int fd) : descriptor(loop, fd) {}
  asio::posix::stream_descriptor descriptor;
};

Components::Components(Executor loop, std::string folder,
                       std::function<void(const std::string&)> changed)
    : loop_(loop),
      folder_(std::move(folder)),
      changed_(std::move(changed)),
      tasks_(loop, "components") {}

Components::~Components() = default;

void Components::start() {
  Fd fd(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  constexpr auto kChanges = IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE;
  if (fd && ::inotify_add_watch(fd.get(), folder_.c_str(), kChanges) >= 0) {
    watch_ = std::make_unique<Watch>(loop_, fd.release());
    tasks_.spawn(keep_looking());
  } else {
    log::warn("components: {}; they are looked for only at the start",
              sys_error(errno, "watch " + folder_).what);
  }
  // The watch began before this look, so no change is missed.
  look();
}

Task<void> Components::stop() {
  tasks_.cancel();
  co_await tasks_.join();
}

Task<void> Components::keep_looking() {
  co_await yield_to_loop();
  alignas(inotify_event) char bytes[16U << 10];
  for (;;) {
    boost::system::error_code failed;
    static_cast<void>(co_await watch_->descriptor.async_read_some(
        asio::buffer(bytes), asio::redirect_error(asio::use_awaitable, failed)));
    if (failed) co_return;
    // The event itself does not matter, because events may be lost; the folder's content counts.
    look();
  }
}

void Components::look() {
  PosixFiles files;
  const auto names = files.list(folder_);
  if (!names) {
    log::warn("components: {}", names.error().what);
    return;
  }
  std::map<std::string, PortText> found;
  for (const auto& file : *names) {
    if (!file.ends_with(kPortSuffix) || found.size() >= kComponentsMax) continue;
    const auto name = file.substr(0, file.size() - kPortSuffix.size());
    if (!mcp::is_server_name(name)) continue;
    if (auto port = read_port(folder_ + "/" + file)) {
      found[name] = *std::move(port);
    } else if (ports_.contains(name)) {
      log::warn("components: {}/{} does not name a port, or others may write or read it", folder_,
                file);
    }
  }
  const auto before = std::exchange(ports_, found);
  for (const auto& [name, port] : before)
    if (!found.contains(name)) {
      log::info("component {} is gone", name);
      changed_(name);
    }
  for (const auto& [name, port] : found) {
    const auto known = before.find(name);
    if (known != before.end() && known->second == port) continue;
    log::info("component {} is at port {}", name, port.port);
    changed_(name);
  }
}

std::optional<mcp::Connections::Needs::Place> Components::place_of(const std::string& name) const {
  const auto found = ports_.find(name);
  if (found == ports_.end()) return std::nullopt;
  return mcp::Connections::Needs::Place{fmt::format("http://127.0.0.1:{}/mcp", found->second.port),
                                        found->second.token};
}

}  // namespace reef::daemon
