#include "store/fs/inotify.h"

#include <array>
#include <cerrno>
#include <sys/inotify.h>
#include <unistd.h>

namespace reef::store {
namespace {

constexpr std::size_t kReadBytes = 16U << 10;
constexpr int kReadsMax = 64;

}  // namespace

Result<std::unique_ptr<Inotify>> Inotify::begin(const Executor& loop) {
  const int fd = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (fd < 0) return sys_error(errno, "watch folders");
  return std::make_unique<Inotify>(loop, fd);
}

Result<int> Inotify::add(const std::string& path, std::uint32_t events) {
  const int watch = ::inotify_add_watch(fd_.native_handle(), path.c_str(), events);
  if (watch < 0) return sys_error(errno, "watch " + path);
  return watch;
}

void Inotify::remove(int watch) {
  ::inotify_rm_watch(fd_.native_handle(), watch);
}

void Inotify::wait(std::function<void()> readable) {
  fd_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                 [readable = std::move(readable)](const boost::system::error_code& failed) {
                   if (!failed) readable();
                 });
}

void Inotify::read(const std::function<void(const Event&)>& take) {
  alignas(::inotify_event) std::array<char, kReadBytes> buffer;
  for (int reads = 0; reads < kReadsMax; ++reads) {
    const auto got = ::read(fd_.native_handle(), buffer.data(), buffer.size());
    if (got <= 0) return;
    for (std::size_t at = 0; at < static_cast<std::size_t>(got);) {
      const auto& event = *reinterpret_cast<const ::inotify_event*>(buffer.data() + at);
      const std::string_view name = event.len > 0 ? std::string_view(event.name) : "";
      take(Event{event.wd, event.mask, name});
      at += sizeof event + event.len;
    }
  }
}

void Inotify::end() {
  // Not closed: a thread may be adding a folder.
  boost::system::error_code ignored;
  fd_.cancel(ignored);
}

}  // namespace reef::store
