#include <fcntl.h>
#include <initializer_list>
#include <sys/prctl.h>

#include <linux/capability.h>

#include "process/keeper/kernel.h"
#include "process/keeper/sandbox.h"

namespace reef::process {
namespace {

constexpr int kCreateRuleset = 444;
constexpr int kAddRule = 445;
constexpr int kRestrictSelf = 446;

// Later versions of the interface only add members.
struct Attributes {
  std::uint64_t files;
  std::uint64_t network;  // version 4
  std::uint64_t scoped;   // version 6
};
struct __attribute__((packed)) PathRule {
  std::uint64_t allowed;
  std::int32_t parent_fd;
};

constexpr std::uint64_t kWriteFile = 1ULL << 1;
constexpr std::uint64_t kRemoveDir = 1ULL << 4;
constexpr std::uint64_t kRemoveFile = 1ULL << 5;
constexpr std::uint64_t kMakeAny = 0x7fULL << 6;    // char, dir, file, socket, fifo, block, symlink
constexpr std::uint64_t kRefer = 1ULL << 13;        // version 2
constexpr std::uint64_t kTruncate = 1ULL << 14;     // version 3
constexpr std::uint64_t kDeviceIoctl = 1ULL << 15;  // version 5
constexpr std::uint64_t kBindTcp = 1ULL << 0;
constexpr std::uint64_t kConnectTcp = 1ULL << 1;
constexpr std::uint64_t kAbstractSockets = 1ULL << 0;
constexpr std::uint64_t kScopeSignals = 1ULL << 1;

std::uint64_t writing(int version) {
  auto rights = kWriteFile | kRemoveDir | kRemoveFile | kMakeAny;
  if (version >= 2) rights |= kRefer;
  if (version >= 3) rights |= kTruncate;
  if (version >= 5) rights |= kDeviceIoctl;
  return rights;
}

int allow(int ruleset, const char* path, std::uint64_t rights) {
  const int fd = ::open(path, O_PATH | O_CLOEXEC);
  if (fd < 0) return errno;
  const PathRule rule{rights, fd};
  constexpr int kPathBeneath = 1;
  const int error = ::syscall(kAddRule, ruleset, kPathBeneath, &rule, 0) == 0 ? 0 : errno;
  ::close(fd);
  return error;
}

}  // namespace

int make_landlock(int version, bool read_only, bool no_network, const char* const* writables,
                  unsigned writable_count, int& ruleset, int& which_failed) {
  ruleset = -1;
  Attributes attributes{};
  if (read_only) attributes.files = writing(version);
  if (no_network && version >= 4) attributes.network = kBindTcp | kConnectTcp;
  if (no_network && version >= 6) attributes.scoped |= kAbstractSockets;
  if (read_only && version >= 6) attributes.scoped |= kScopeSignals;
  if (version == 0 || (attributes.files | attributes.network | attributes.scoped) == 0) return 0;

  const std::size_t bytes = version >= 6 ? 24 : version >= 4 ? 16 : 8;
  ruleset = static_cast<int>(::syscall(kCreateRuleset, &attributes, bytes, 0));
  if (ruleset < 0) return errno;
  if (!read_only) return 0;

  // Nothing keeps what is written to these. The kernel refuses rights that make no sense for a
  // file.
  constexpr auto kFileRights = kWriteFile | kTruncate | kDeviceIoctl;
  for (const char* sink : {"/dev/null", "/dev/zero", "/dev/full"})
    if (const int error = allow(ruleset, sink, writing(version) & kFileRights);
        error != 0 && error != ENOENT)
      return error;
  for (unsigned i = 0; i < writable_count; ++i) {
    which_failed = static_cast<int>(i);
    int error = allow(ruleset, writables[i], writing(version) & ~kDeviceIoctl);
    if (error == EINVAL)  // a file, not a folder
      error = allow(ruleset, writables[i], writing(version) & (kWriteFile | kTruncate));
    if (error != 0) return error;
  }
  return 0;
}

int give_up_privileges() {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno;
  // For a daemon that runs as root: reading needs none of root's other powers.
  for (unsigned long capability = 0; capability <= 63; ++capability)
    if (capability != CAP_DAC_READ_SEARCH) ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct head{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct held[2] = {};
  ::syscall(SYS_capget, &head, held);
  __user_cap_data_struct kept[2] = {};
  kept[0].permitted = kept[0].effective = held[0].permitted & (1U << CAP_DAC_READ_SEARCH);
  ::syscall(SYS_capset, &head, kept);
  return 0;
}

int put_on_landlock(int ruleset) {
  if (ruleset < 0) return 0;
  return ::syscall(kRestrictSelf, ruleset, 0) == 0 ? 0 : errno;
}

}  // namespace reef::process
