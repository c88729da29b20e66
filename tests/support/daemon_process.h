// The real reefd on a temporary home.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <sys/types.h>

#include "client/client.h"
#include "support/temp_dir.h"

namespace reef::test {

class DaemonProcess {
 public:
  // Starts and waits until it is ready; throws when it does not get there.
  explicit DaemonProcess(std::string home);
  ~DaemonProcess();  // kill -9, if it still runs
  DaemonProcess(const DaemonProcess&) = delete;
  DaemonProcess& operator=(const DaemonProcess&) = delete;

  pid_t pid() const { return pid_; }
  void signal(int number) const;
  void kill9();
  // The exit code, or nullopt when it does not end in time (or was killed).
  std::optional<int> wait_for_exit(std::chrono::milliseconds patience);
  // VmRSS or VmHWM of /proc/PID/status, in bytes.
  std::uint64_t memory(const std::string& field) const;

  client::Endpoint endpoint() const;

 private:
  std::string home_;
  pid_t pid_ = -1;
};

// Writes a scripted provider, and an agent of that name which uses it, into a home.
void add_scripted_agent(const std::string& home, const std::string& name,
                        const std::string& script_json);

}  // namespace reef::test
