#include "process/keeper_image.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/files.h"

__asm__(
    ".section .rodata\n"
    ".balign 16\n"
    "reef_keeper_begin:\n"
    ".incbin \"" REEF_KEEPER
    "\"\n"
    "reef_keeper_end:\n"
    ".previous\n");
extern "C" {
extern const char reef_keeper_begin[];
extern const char reef_keeper_end[];
}

namespace reef::process {
namespace {

Result<int> make_program() {
  constexpr unsigned kExecutable = 0x10;  // MFD_EXEC, Linux 6.3; some systems demand it
  int made = ::memfd_create("reef-keeper", MFD_CLOEXEC | MFD_ALLOW_SEALING | kExecutable);
  if (made < 0 && errno == EINVAL)
    made = ::memfd_create("reef-keeper", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (made < 0) return sys_error(errno, "no memory for the program that keeps children");
  Fd program(made);
  const char* at = reef_keeper_begin;
  while (at != reef_keeper_end) {
    const auto wrote = ::write(program.get(), at, static_cast<std::size_t>(reef_keeper_end - at));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return sys_error(errno, "the program that keeps children");
    at += wrote;
  }
  if (::fcntl(program.get(), F_ADD_SEALS,
              F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) != 0)
    return sys_error(errno, "the program that keeps children");
  // The number must lie above those the keeper's own descriptors get before it is executed.
  const int lifted = ::fcntl(program.get(), F_DUPFD_CLOEXEC, 10);
  if (lifted < 0) return sys_error(errno, "the program that keeps children");
  return lifted;
}

}  // namespace

Result<int> keeper_program() {
  static int program = -1;
  if (program < 0) {
    REEF_TRY(program, make_program());
  }
  return program;
}

}  // namespace reef::process
