#include <gtest/gtest.h>

#include "process/children.h"
#include "process/pretence.h"
#include "process/process.h"
#include "support/run.h"
#include "support/temp_dir.h"

namespace reef::process {
namespace {

class Sandboxed : public testing::Test {
 protected:
  static constexpr Sandbox kAll{.read_only = true, .no_network = true};

  void SetUp() override {
    if (const auto missing = what_is_missing(kAll); !missing.empty())
      GTEST_SKIP() << "THE SANDBOX WAS NOT CHECKED: " << missing;
    test::write_file(dir / "file", "kept");
  }
  test::Ran ran(const std::string& script, Sandbox sandbox = kAll) {
    auto command = test::shell_command(script);
    command.cwd = dir.path();
    command.sandbox = std::move(sandbox);
    return test::run_command(io, std::move(command));
  }

  boost::asio::io_context io{1};
  test::TempDir dir;
};

TEST_F(Sandboxed, LookingWorks) {
  const auto seen =
      ran("cat file; ls; grep -c k file > /dev/null && echo found; echo a | tr a b; "
          "timeout 5 head -c 1 /dev/zero | wc -c");
  EXPECT_EQ(seen.output, "keptfile\nfound\nb\n1\n") << seen.errors;
  EXPECT_EQ(seen.errors, "");
}

TEST_F(Sandboxed, FilesCannotBeTouched) {
  for (const char* script :
       {"echo x > file", "echo x >> file", ": > file", "echo x > new", "rm file", "mv file other",
        "ln file other", "ln -s file other", "mkdir other", "mkfifo other", "truncate -s 0 file",
        "chmod 777 file", "chown 1 file", "touch file", "touch new", "cp file other",
        "dd if=/dev/zero of=file count=1", "setfattr -n user.a -v b file", "chattr +i file"}) {
    const auto tried = ran(script);
    EXPECT_NE(tried.exit.code, 0) << script;
    EXPECT_EQ(test::read_file(dir / "file"), "kept") << script;
    EXPECT_FALSE(test::exists(dir / "new")) << script;
    EXPECT_FALSE(test::exists(dir / "other")) << script;
  }
}

TEST_F(Sandboxed, OnlyTheWritableFolderCanBeWritten) {
  test::write_file(dir / "also", "");
  ASSERT_EQ(ran("mkdir in").exit.code, 1);
  const test::TempDir other;
  Sandbox sandbox = kAll;
  sandbox.writable = {other.path(), dir / "also"};
  const auto tried =
      ran("echo a > also; mkdir " + (other / "d") + " && echo b > " + (other / "d/f") +
              "; echo c > file; rm also; cat also " + (other / "d/f"),
          sandbox);
  EXPECT_EQ(tried.output, "a\nb\n") << tried.errors;
  EXPECT_EQ(test::read_file(dir / "file"), "kept");
}

TEST_F(Sandboxed, ProcessesOutsideCannotBeSignalledAndItsOwnCan) {
  const auto mine = std::to_string(::getpid());
  EXPECT_NE(ran("kill -0 " + mine).exit.code, 0);
  EXPECT_NE(ran("kill -0 $PPID").exit.code, 0);
  EXPECT_EQ(ran("sleep 1000 & kill $! && wait $!").exit.code, 143);
  EXPECT_NE(ran("renice 5 " + mine).exit.code, 0);
  EXPECT_NE(ran("cat /proc/" + mine + "/environ").exit.code, 0);
}

// A lease on a file holds up the next process that opens it, which may be the daemon. The three
// ways are F_SETLEASE, F_NOTIFY and the delegation of Linux 6.19.
TEST_F(Sandboxed, NoLeaseIsTaken) {
  const std::string script =
      "python3 -c 'import errno, fcntl, os, sys\n"
      "for path, how in ((\"file\", 1024), (\".\", 1026), (\".\", 1040)):\n"
      "  try: fcntl.fcntl(os.open(path, os.O_RDONLY), how, 1); print(how, \"taken\")\n"
      "  except OSError as error: print(how, errno.errorcode[error.errno])'";
  for (const int version : {1000, 1}) {
    pretend_landlock(version);
    const auto tried = ran(script);
    pretend_landlock(1000);
    EXPECT_EQ(tried.output, "1024 EPERM\n1026 EPERM\n1040 EPERM\n") << tried.errors;
  }
  // Without read_only a lease can be taken, so the refusals above mean something.
  const auto outside = ran(script, Sandbox{.read_only = false, .no_network = true});
  EXPECT_EQ(outside.output.substr(0, 22), "1024 taken\n1026 taken\n") << outside.errors;
}

TEST_F(Sandboxed, OnlyTheNetworkCanBeTakenAway) {
  const auto tried = ran("echo x > new && exec 3<>/dev/tcp/127.0.0.1/9",
                         Sandbox{.read_only = false, .no_network = true});
  EXPECT_NE(tried.errors.find("Operation not permitted"), std::string::npos) << tried.errors;
  EXPECT_TRUE(test::exists(dir / "new"));
}

#ifdef __x86_64__
// System calls by number, so that no library stands between.
constexpr const char* kCalls = R"(
import ctypes, errno, sys
libc = ctypes.CDLL(None, use_errno=True)
calls = {
    'io_uring_setup': (425, 1, ctypes.create_string_buffer(200)), 'unshare user': (272, 0x10000000),
    'clone user': (56, 0x10000000 | 17, 0, 0, 0, 0), 'clone3': (435, ctypes.create_string_buffer(88), 88),
    'mount': (165, b'none', b'/tmp', b'tmpfs', 0, 0), 'open_tree': (428, -100, b'/', 1), 'setns': (308, 0, 0),
    'ptrace': (101, 16, 1, 0, 0), 'process_vm_writev': (311, 1, 0, 0, 0, 0, 0), 'pidfd_getfd': (438, 0, 0, 0),
    'bpf': (321, 0, 0, 0), 'perf_event_open': (298, 0, 0, 0, 0, 0), 'keyctl': (250, 0, 0, 0, 0, 0),
    'shmget': (29, 0, 4096, 0o1600), 'semget': (64, 0, 1, 0o1600), 'msgget': (68, 0, 0o1600),
    'mq_open': (240, b'reef', 0o102, 0o600, 0), 'open_by_handle_at': (304, 0, 0, 0), 'clock_settime': (227, 0, 0),
    'inet': (41, 2, 1, 0), 'inet6': (41, 10, 1, 0), 'udp': (41, 2, 2, 0), 'netlink': (41, 16, 3, 0),
    'packet': (41, 17, 3, 0), 'unix': (41, 1, 1, 0), 'vsock': (41, 40, 1, 0), 'pair of datagrams': (53, 1, 2, 0, 0),
    'x32': (0x40000000 | 2, b'keep', 0), 'a call of tomorrow': (600,), 'swapon': (167, b'/x', 0),
    'setxattrat': (463, -100, b'file', 0, b'user.a', 0, 0), 'file_setattr': (469, -100, b'file', 0, 0, 0),
    'fchmodat2': (452, -100, b'file', 0o777, 0), 'chroot': (161, b'/'), 'userfaultfd': (323, 0),
    'set flags': (16, 0, 0x40086602, ctypes.create_string_buffer(8)), 'inject': (16, 0, 0x5412, b'x'),
}
for name, call in calls.items():
    done = libc.syscall(*call)
    if done != -1 or ctypes.get_errno() not in (errno.EPERM, errno.ENOSYS, errno.ENOTTY):
        if call[0] == 56 and done == 0: sys.exit(0)
        print(name, done, errno.errorcode.get(ctypes.get_errno()))
)";

TEST_F(Sandboxed, NoCallGetsAround) {
  Command command = test::shell_command("");
  command.argv = {"python3", "-c", kCalls};
  command.cwd = dir.path();
  command.sandbox = kAll;
  for (const int version : {1000, 1}) {
    pretend_landlock(version);
    const auto tried = test::run_command(io, command);
    pretend_landlock(1000);
    EXPECT_EQ(tried.output, "");
    EXPECT_EQ(tried.errors, "");
    EXPECT_EQ(tried.exit.code, 0);
  }
  // Without read_only calls of the list succeed, so the list means something.
  command.sandbox = Sandbox{.read_only = false, .no_network = true};
  EXPECT_EQ(test::run_command(io, command).output.find("shmget"), 0U);
}

TEST_F(Sandboxed, PairsOfSocketsAndThreadsWork) {
  Command command = test::shell_command("");
  command.argv = {"python3", "-c",
                  "import socket, threading, subprocess\n"
                  "a, b = socket.socketpair(); a.send(b'x'); print(b.recv(1))\n"
                  "t = threading.Thread(target=lambda: print('thread')); t.start(); t.join()\n"
                  "print(subprocess.run(['echo', 'child'], capture_output=True).stdout)\n"};
  command.sandbox = kAll;
  EXPECT_EQ(test::run_command(io, command).output, "b'x'\nthread\nb'child\\n'\n");
}
#endif

TEST_F(Sandboxed, AnOlderKernelIsSaidPlainly) {
  struct Newer {
    ~Newer() { pretend_landlock(1000); }
  } newer;
  pretend_landlock(0);
  EXPECT_EQ(what_is_missing(kAll).substr(0, 41), "files can be written: this kernel has no ");
  const auto wrote = ran("echo x > new && kill -0 $PPID");
  EXPECT_TRUE(test::exists(dir / "new"));
  EXPECT_NE(wrote.exit.code, 0);  // the rules that this kernel does have still apply
  pretend_landlock(5);
  EXPECT_EQ(what_is_missing(kAll),
            "a command cannot signal even its own processes (kill, timeout): this kernel's "
            "Landlock is older than "
            "Linux 6.12");
  pretend_landlock(6);
  EXPECT_EQ(what_is_missing(kAll), "");
}

TEST_F(Sandboxed, OnlyWritingCanBeTakenAway) {
  const auto tried =
      ran("exec 3<>/dev/tcp/127.0.0.1/9", Sandbox{.read_only = true, .no_network = false});
  EXPECT_NE(tried.errors.find("Connection refused"), std::string::npos) << tried.errors;
}

}  // namespace
}  // namespace reef::process
