// The addresses where clients connect: the owner's socket, TCP on loopback when the configuration
// wants it, and CrabTalk's own address on request. Owns the listeners, the token and the address
// file. Loop thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/pool.h"
#include "base/random.h"
#include "daemon/config.h"
#include "daemon/crabtalk_door.h"
#include "daemon/home.h"
#include "transport/transport.h"

namespace reef::daemon {

class Listeners {
 public:
  struct Parts {
    Executor loop;
    Files& files;
    Pool& pool;
    Random& random;
    const Home& home;
    std::string user_home;
    transport::Handler handler;
  };
  explicit Listeners(Parts parts);

  // Opens what the configuration names. When a later listener fails, the open ones stay owned;
  // stop() closes them.
  Status open(const Config& config);
  // Changes from one configuration to the next. On an error the old addresses serve as before.
  Status change(const Config& from, const Config& to);

  std::size_t connections() const;
  // Takes no more connections and removes the files that tell clients where to connect.
  void close_doors();
  // Waits until every connection has got its answers, at most until the deadline.
  Task<void> settle(std::chrono::milliseconds patience);
  // Closes every connection and returns when all is done.
  Task<void> stop();

 private:
  // nullptr when TCP is off.
  Result<std::unique_ptr<transport::Listener>> listen_tcp(const Config& config);
  Status adopt_tcp(std::unique_ptr<transport::Listener> listener);
  Status change_tcp(const Config& from, const Config& to);
  // Opens or closes CrabTalk's address. A daemon that cannot have it works all the same; the log
  // says why.
  void mind_crabtalk(const Config& config);
  Status open_crabtalk(const Config& config);
  Result<std::string> load_token();

  Parts parts_;
  CrabtalkDoor door_;
  const std::shared_ptr<transport::FrameBudget> frames_;
  // The first is the owner's. A listener that takes no more connections stays here until the end,
  // because its clients stay, too.
  std::vector<std::unique_ptr<transport::Listener>> all_;
  transport::Listener* tcp_ = nullptr;
  transport::Listener* crabtalk_ = nullptr;
};

}  // namespace reef::daemon
