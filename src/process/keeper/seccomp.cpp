// The system calls a sandboxed child may not make: those that change something Landlock does not
// cover, and those that would get around it. Calls newer than this list are unknown to the child.
#include <cstddef>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <linux/audit.h>
#include <linux/filter.h>
#include <sched.h>

#include "process/keeper/kernel.h"
#include "process/keeper/sandbox.h"

namespace reef::process {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
constexpr std::uint32_t kArchitecture = 0;
#endif

// Numbers from 424 on are the same on all architectures.
constexpr std::uint32_t kPidfdSendSignal = 424, kIoUringSetup = 425, kIoUringEnter = 426,
                        kIoUringRegister = 427, kOpenTree = 428, kMoveMount = 429, kFsopen = 430,
                        kFsconfig = 431, kFsmount = 432, kFspick = 433, kClone3 = 435,
                        kOpenat2 = 437, kPidfdGetfd = 438, kProcessMadvise = 440,
                        kMountSetattr = 442, kQuotactlFd = 443, kProcessMrelease = 448,
                        kFchmodat2 = 452, kSetxattrat = 463, kRemovexattrat = 466,
                        kOpenTreeAttr = 467, kFileSetattr = 469;
constexpr std::uint32_t kLastKnown = kFileSetattr;

// Calls that lead around the sandbox, into another process or into the kernel.
constexpr std::uint32_t kNever[] = {
    kIoUringSetup,
    kIoUringEnter,
    kIoUringRegister,
    kOpenTree,
    kMoveMount,
    kFsopen,
    kFsconfig,
    kFsmount,
    kFspick,
    kMountSetattr,
    kOpenTreeAttr,
    kPidfdGetfd,
    kProcessMadvise,
    kProcessMrelease,
    kQuotactlFd,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_unshare,
    SYS_setns,
    SYS_swapon,
    SYS_swapoff,
    SYS_reboot,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
#ifdef SYS_kexec_file_load
    SYS_kexec_file_load,
#endif
#ifdef SYS_iopl
    SYS_iopl,
    SYS_ioperm,
#endif
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_clock_adjtime,
    SYS_adjtimex,
    SYS_acct,
    SYS_quotactl,
    SYS_syslog,
    SYS_vhangup,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_fanotify_init,
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_kcmp,
    SYS_add_key,
    SYS_request_key,
    SYS_keyctl,
    SYS_move_pages,
    SYS_migrate_pages,
    SYS_open_by_handle_at,
};

// Calls that change files in ways Landlock does not cover, and calls that affect things which
// outlive the child or belong to others: priorities, System V and POSIX queues and memory.
constexpr std::uint32_t kReadOnly[] = {
    SYS_fchmod,         SYS_fchmodat,      kFchmodat2,
    SYS_fchown,         SYS_fchownat,      SYS_utimensat,
    SYS_setxattr,       SYS_lsetxattr,     SYS_fsetxattr,
    kSetxattrat,        SYS_removexattr,   SYS_lremovexattr,
    SYS_fremovexattr,   kRemovexattrat,    kFileSetattr,
#ifdef SYS_chmod
    SYS_chmod,          SYS_chown,         SYS_lchown,
    SYS_utime,          SYS_utimes,        SYS_futimesat,
#endif
    SYS_setpriority,    SYS_ioprio_set,    SYS_sched_setscheduler,
    SYS_sched_setparam, SYS_sched_setattr, SYS_shmget,
    SYS_shmat,          SYS_shmctl,        SYS_semget,
    SYS_semop,          SYS_semtimedop,    SYS_semctl,
    SYS_msgget,         SYS_msgsnd,        SYS_msgrcv,
    SYS_msgctl,         SYS_mq_open,       SYS_mq_unlink,
};

// Before version 6 Landlock cannot keep signals inside, so none may be sent at all.
constexpr std::uint32_t kSignalCalls[] = {
    SYS_kill, SYS_tkill, SYS_tgkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo, kPidfdSendSignal};

// Calls that give a socket an address or connect it; a connected pair needs none of them.
constexpr std::uint32_t kNetwork[] = {SYS_socket, SYS_connect, SYS_bind,
                                      SYS_listen, SYS_accept,  SYS_accept4};

// These ioctls only ask. Many file systems and drivers change things by ioctl on files open for
// reading, so all others are refused.
constexpr std::uint32_t kIoctls[] = {
    0x5401 /* TCGETS */,
    0x802c542a /* TCGETS2 */,
    TIOCGWINSZ,
    TIOCGPGRP,
    TIOCGSID,
    FIONREAD,
    FIONBIO,
    FIOCLEX,
    FIONCLEX,
    0x2 /* FIGETBSZ */,
    0x80086601 /* GETFLAGS */,
    0x801c581f /* FSGETXATTR */,
    0xc020660b /* FIEMAP */,
};

// The kernel takes filters many times this long. A filter that does not fit is a bug that any test
// finds.
class Filter {
 public:
  void load(std::size_t offset) {
    add(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset));
  }
  void load_call() { load(offsetof(seccomp_data, nr)); }
  void load_argument(unsigned index) { load(offsetof(seccomp_data, args) + 8 * index); }
  void load_high(unsigned index) { load(offsetof(seccomp_data, args) + 8 * index + 4); }
  void mask(std::uint32_t bits) { add(BPF_ALU | BPF_AND | BPF_K, bits); }
  void jump(std::uint16_t test, std::uint32_t value, unsigned yes, unsigned no) {
    add(static_cast<std::uint16_t>(BPF_JMP | test | BPF_K), value, static_cast<std::uint8_t>(yes),
        static_cast<std::uint8_t>(no));
  }
  void refuse(int error = EPERM) {
    add(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error));
  }
  void kill() { add(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS); }
  void allow() { add(BPF_RET | BPF_K, SECCOMP_RET_ALLOW); }

  // This and all below expect the call number to be loaded, and load it again with load_call().
  void refuse_call(std::uint32_t call, int error = EPERM) {
    jump(BPF_JEQ, call, 0, 1);
    refuse(error);
  }
  template <std::size_t N>
  void refuse_calls(const std::uint32_t (&calls)[N]) {
    for (const auto call : calls) refuse_call(call);
  }

  int put_on() {
    if (overflow_) return E2BIG;
    sock_fprog program{static_cast<unsigned short>(size_), code_};
    return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0 ? 0 : errno;
  }

 private:
  void add(std::uint16_t code, std::uint32_t k, std::uint8_t yes = 0, std::uint8_t no = 0) {
    if (size_ == kMax) {
      overflow_ = true;
      return;
    }
    code_[size_++] = sock_filter{code, yes, no, k};
  }

  static constexpr std::size_t kMax = 512;
  sock_filter code_[kMax];
  std::size_t size_ = 0;
  bool overflow_ = false;
};

void check_architecture(Filter& filter) {
  filter.load(offsetof(seccomp_data, arch));
  filter.jump(BPF_JEQ, kArchitecture, 1, 0);
  filter.kill();
  filter.load_call();
  filter.jump(BPF_JGT, kLastKnown, 0, 1);  // refuses x86's x32 calls, too
  filter.refuse(ENOSYS);
}

void check_clone(Filter& filter) {
  filter.refuse_call(kClone3, ENOSYS);  // its flags are out of reach; libraries fall back to clone
  constexpr std::uint32_t kNamespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS |
                                        CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;
  filter.jump(BPF_JEQ, SYS_clone, 0, 4);
  filter.load_argument(0);
  filter.jump(BPF_JSET, kNamespaces, 0, 1);
  filter.refuse();
  filter.load_call();
}

void check_ioctl(Filter& filter) {
  constexpr auto kCount = sizeof kIoctls / sizeof *kIoctls;
  filter.jump(BPF_JEQ, SYS_ioctl, 0, kCount + 3);
  filter.load_argument(1);
  for (std::size_t i = 0; i < kCount; ++i)
    filter.jump(BPF_JEQ, kIoctls[i], static_cast<unsigned>(kCount - i), 0);
  filter.refuse(ENOTTY);
  filter.load_call();
}

// Opening for reading with O_TRUNC empties a file, which Landlock before version 3 allows.
void check_truncation(Filter& filter) {
  struct Open {
    std::uint32_t call;
    unsigned flags;
  };
  constexpr Open kOpens[] = {{SYS_openat, 2},
#ifdef SYS_open
                             {SYS_open, 1}
#endif
  };
  for (const auto& open : kOpens) {
    filter.jump(BPF_JEQ, open.call, 0, 5);
    filter.load_argument(open.flags);
    filter.mask(O_TRUNC | O_ACCMODE);
    filter.jump(BPF_JEQ, O_TRUNC | O_RDONLY, 0, 1);
    filter.refuse();
    filter.load_call();
  }
  filter.refuse_call(kOpenat2, ENOSYS);
  filter.refuse_call(SYS_truncate);
}

// Allows the call only for the child itself: limits and processors of others must not change.
void check_own_only(Filter& filter, std::uint32_t call) {
  filter.jump(BPF_JEQ, call, 0, 4);
  filter.load_argument(0);
  filter.jump(BPF_JEQ, 0, 1, 0);
  filter.refuse();
  filter.load_call();
}

// A lease makes whoever opens the file next wait for up to 45 s, be it the daemon or the user;
// leases and notifications also reveal what others do.
void check_leases(Filter& filter) {
  constexpr std::uint32_t kSetDelegation = 1024 + 16;
  filter.jump(BPF_JEQ, SYS_fcntl, 0, 6);
  filter.load_argument(1);
  filter.jump(BPF_JEQ, F_SETLEASE, 2, 0);
  filter.jump(BPF_JEQ, F_NOTIFY, 1, 0);
  filter.jump(BPF_JEQ, kSetDelegation, 0, 1);
  filter.refuse();
  filter.load_call();
}

// Setting who gets which signal when a descriptor is ready would be another way to send signals.
void check_owner(Filter& filter) {
  filter.jump(BPF_JEQ, SYS_fcntl, 0, 6);
  filter.load_argument(1);
  filter.jump(BPF_JEQ, F_SETOWN, 2, 0);
  filter.jump(BPF_JEQ, F_SETOWN_EX, 1, 0);
  filter.jump(BPF_JEQ, F_SETSIG, 0, 1);
  filter.refuse();
  filter.load_call();
}

// Allows only pairs of connected sockets. Datagram sockets could send elsewhere.
void check_sockets(Filter& filter) {
  filter.jump(BPF_JEQ, SYS_socketpair, 0, 8);
  filter.load_argument(0);
  filter.jump(BPF_JEQ, AF_UNIX, 0, 4);
  filter.load_argument(1);
  filter.mask(0xf);
  filter.jump(BPF_JEQ, SOCK_STREAM, 2, 0);
  filter.jump(BPF_JEQ, SOCK_SEQPACKET, 1, 0);
  filter.refuse();
  filter.load_call();
  filter.jump(BPF_JEQ, SYS_sendto, 0, 6);  // with an address
  filter.load_argument(4);
  filter.jump(BPF_JEQ, 0, 0, 2);
  filter.load_high(4);
  filter.jump(BPF_JEQ, 0, 1, 0);
  filter.refuse();
  filter.load_call();
}

}  // namespace

int put_on_seccomp(int landlock, bool read_only, bool no_network) {
  if (!has_seccomp()) return 0;
  Filter filter;
  check_architecture(filter);
  filter.refuse_calls(kNever);
  check_clone(filter);
  if (read_only) {
    filter.refuse_calls(kReadOnly);
    if (landlock < 6) {
      filter.refuse_calls(kSignalCalls);
      check_owner(filter);
    }
    if (landlock < 3) check_truncation(filter);
    check_leases(filter);
    check_own_only(filter, SYS_prlimit64);
    check_own_only(filter, SYS_sched_setaffinity);
    check_ioctl(filter);
  }
  if (no_network) {
    filter.refuse_calls(kNetwork);
    check_sockets(filter);
  }
  filter.allow();
  return filter.put_on();
}

}  // namespace reef::process
