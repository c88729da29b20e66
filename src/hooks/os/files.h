// The user's files as the tools see them: whole, regular, and replaced as one. Blocks; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <sys/types.h>

#include "base/result.h"

namespace reef::hooks::os {

// What is larger is left to bash.
inline constexpr std::uint64_t kFileBytesMax = 50U << 20;

struct Content {
  std::string bytes;
  mode_t mode = 0;  // the permission bits
  uid_t owner = 0;
  gid_t group = 0;
  nlink_t names = 1;
  dev_t device = 0;
  ino_t inode = 0;
};

// Refuses folders, pipes, devices, what the kernel makes up, and what is too large. `path` is
// without links.
Result<Content> read_file(const std::string& path, std::uint64_t bytes_max = kFileBytesMax);

// Tells contents apart.
std::string fingerprint(std::string_view bytes);

// A file that is not there yet, its folders with it. conflict when it is there after all.
Status create_file(const std::string& path, std::string_view bytes, mode_t umask);
// Puts `bytes` in the place of what was read: readers see one or the other, mode and owner stay.
// conflict when another file stands there by now, or it has other names.
Status replace_file(const std::string& path, const Content& read, std::string_view bytes);

}  // namespace reef::hooks::os
