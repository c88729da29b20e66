// The messages between the daemon and a keeper over the control socket. Both are built together and
// come from one program file, so the layout of a struct is the format.
#pragma once

#include <cstdint>

namespace reef::process {

inline constexpr int kControlFd = 3;  // in the keeper; 0, 1 and 2 are the child's

// The first and only message to the keeper. `text_bytes` of NUL-terminated strings follow: the
// folder, `arguments` of argv, `variables` as NAME=value, `writables`. The end of the stream means:
// kill them all.
struct Plan {
  std::uint32_t text_bytes = 0;
  std::uint32_t arguments = 0;
  std::uint32_t variables = 0;
  std::uint32_t writables = 0;
  std::uint32_t read_only = 0;
  std::uint32_t no_network = 0;
  std::int32_t umask = -1;    // -1: unchanged
  std::int32_t landlock = 0;  // the version to use; 0: none
};

enum class Stage : std::int32_t {
  keeper,    // the keeper itself
  folder,    // the working directory
  writable,  // a path of the sandbox; `which` counts them
  sandbox,
  program,  // execve
};

// Messages from the keeper: first started or failed; after started, one exited.
struct Report {
  enum class Kind : std::int32_t { started, failed, exited };
  Kind kind = Kind::failed;
  std::int32_t pid = 0;  // started
  Stage stage = Stage::keeper;
  std::int32_t error = 0;   // failed: errno
  std::int32_t which = 0;   // failed: of Stage::writable
  std::int32_t code = 0;    // exited
  std::int32_t signal = 0;  // exited
};

}  // namespace reef::process
