// Asks which parts of sandboxing the running kernel has. Debian's kernel headers are older than the
// calls used here, so newer numbers are written out. Any thread; for the keeper and the daemon.
#pragma once

#include <cerrno>
#include <cstdint>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/seccomp.h>

namespace reef::process {

// 0 means no Landlock (not built in, not enabled, or an older kernel).
inline int landlock_version() {
  constexpr int kCreateRuleset = 444;
  constexpr unsigned kAskVersion = 1;
  const long version = ::syscall(kCreateRuleset, nullptr, 0, kAskVersion);
  return version < 0 ? 0 : static_cast<int>(version);
}

inline bool has_seccomp() {
#if defined(__x86_64__) || defined(__aarch64__)
  const std::uint32_t action = SECCOMP_RET_ERRNO;
  return ::syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
#else
  return false;
#endif
}

}  // namespace reef::process
