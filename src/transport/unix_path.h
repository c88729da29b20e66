// Unix socket addresses for paths of any length: beyond the kernel's 107 bytes the socket is named
// through an open handle of its directory.
#pragma once

#include <string>

#include "base/files.h"
#include "base/result.h"

namespace reef::transport {

struct UnixAddress {
  std::string path;  // what to bind or connect to
  Fd directory;      // keeps `path` valid; may be empty
};

Result<UnixAddress> unix_address(const std::string& path);

}  // namespace reef::transport
