// CrabTalk's own address, for clients of CrabTalk that know no other: the socket and the port file
// under ~/.crabtalk/run. It is used only on the user's request and never while another daemon has
// it. Nothing else is written outside of the home. Loop thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>

#include "base/files.h"
#include "base/result.h"

namespace reef::daemon {

class CrabtalkDoor {
 public:
  CrabtalkDoor(Files& files, const std::string& user_home)
      : files_(files), folder_(user_home + "/.crabtalk/run") {}
  ~CrabtalkDoor() { leave(); }

  const std::string& folder() const { return folder_; }
  std::string socket() const { return folder_ + "/crabtalk.sock"; }
  std::string port_file() const { return folder_ + "/crabtalk.port"; }

  // Whether the socket's path is free; conflict when somebody listens there, or when it is not a
  // socket.
  Status check() const;
  // Call when we listen there.
  void took_place();
  // Writes the port file; 0 removes it, so that nobody connects by TCP.
  Status tell_port(std::uint16_t port);
  // Removes the files that are still ours.
  void leave();

 private:
  Files& files_;
  const std::string folder_;
  dev_t device_ = 0;
  ino_t inode_ = 0;  // of our socket
  std::optional<std::uint16_t>
      port_;  // what the file says; not known before we wrote or removed it
};

}  // namespace reef::daemon
