// A backup on disk: files in a tar, compressed with zstd, with a checksum over all of it.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/files.h"
#include "base/result.h"
#include "exchange/archive/tar.h"

namespace reef::cli {

// Writes beside `path` and renames when everything is written and synced; when given up, it leaves
// nothing.
class ArchiveWriter {
 public:
  static Result<std::unique_ptr<ArchiveWriter>> create(const std::string& path, bool force);
  virtual ~ArchiveWriter() = default;

  virtual Status begin(const exchange::TarFile& file) = 0;
  virtual Status write(std::string_view bytes) = 0;
  virtual Status end() = 0;
  // Returns the size of the archive.
  virtual Result<std::uint64_t> finish() = 0;
};

// Gives every file of an archive to the sink; an archive that is cut off or was changed is an
// error.
Status read_archive(const std::string& path, exchange::TarReader::Sink& sink);

}  // namespace reef::cli
