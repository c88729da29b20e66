// Reads and replaces the user's files for the tools: whole, regular files only. Blocks; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <sys/types.h>

#include "base/result.h"

namespace reef::hooks::os {

// Larger files are left to bash.
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

// Refuses folders, pipes, devices, files the kernel makes up, and files that are too large. `path`
// is without links.
Result<Content> read_file(const std::string& path, std::uint64_t bytes_max = kFileBytesMax);

// A hash that tells contents apart.
std::string fingerprint(std::string_view bytes);

// Creates a file and its folders. conflict when the file exists already.
Status create_file(const std::string& path, std::string_view bytes, mode_t umask);
// Replaces the file that was read by `bytes`: readers see one or the other; mode and owner stay.
// conflict when another file is there by now, or when the file has other hard links.
Status replace_file(const std::string& path, const Content& read, std::string_view bytes);

}  // namespace reef::hooks::os
