// What the kernel tells of changes in folders. Loop thread only, but for add().
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include <boost/asio/posix/stream_descriptor.hpp>

#include "base/result.h"
#include "base/task.h"

namespace reef::store {

class Inotify {
 public:
  struct Event {
    int watch = -1;          // -1: of none, because some were lost
    std::uint32_t mask = 0;  // IN_...
    std::string_view name;   // of what lies in the folder; empty: the folder itself
  };

  // Of a user's instances there are few (fs.inotify.max_user_instances).
  static Result<std::unique_ptr<Inotify>> begin(const Executor& loop);
  explicit Inotify(const Executor& loop, int fd) : fd_(loop, fd) {}

  // Watches a folder, or what is there in its place, and returns the watch's number: the one it has
  // if it is watched already. no_space when the user has no more watches. Any thread.
  Result<int> add(const std::string& path, std::uint32_t events);
  void remove(int watch);

  // Calls back once, on the loop, when there is something to read, and not after end().
  void wait(std::function<void()> readable);
  // Gives out what there is, but so much at most that others get their turn.
  void read(const std::function<void(const Event&)>& take);
  void end();

 private:
  boost::asio::posix::stream_descriptor fd_;
};

}  // namespace reef::store
