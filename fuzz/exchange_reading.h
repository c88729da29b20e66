// Code shared by the fuzz targets of readers: a disk made of the fuzzer's bytes, and checks that
// must hold for any bytes.
#pragma once

#include <string>
#include <string_view>

#include "base/assert.h"
#include "support/exchange.h"
#include "support/memory_files.h"

namespace reef::fuzz {

// A line "@name" begins a file.
inline void put_files(test::MemoryFiles& disk, const std::string& root, std::string_view bytes) {
  std::string name = "first";
  for (int files = 0; files < 16; ++files) {
    const auto next = bytes.find("\n@");
    disk.put(root + "/" + name, std::string(bytes.substr(0, next)));
    if (next == std::string_view::npos) return;
    bytes.remove_prefix(next + 2);
    const auto end = bytes.find('\n');
    name = bytes.substr(0, std::min<std::size_t>(end, 60));
    // A tree has no empty names, and a path has no NUL.
    for (auto& c : name)
      if (c == '\0') c = '_';
    if (name.empty() || name.starts_with('/') || name.ends_with('/') ||
        name.find("//") != std::string::npos)
      name = "odd" + std::to_string(files);
    bytes.remove_prefix(end == std::string_view::npos ? bytes.size() : end + 1);
  }
}

using Reader = Status (*)(Files&, const std::string&, exchange::Intake&);

// Returns everything that a reader makes of the disk. MemoryIntake checks the reader's contract.
inline std::string reading_of(Reader reader, test::MemoryFiles& disk, const std::string& path) {
  test::MemoryIntake intake(disk);
  const auto read = reader(disk, path, intake);
  std::string out = read ? "" : read.error().what;
  for (const auto& session : intake.sessions()) {
    REEF_ASSERT(session.ended);
    out += session.bytes();
    // Every session taken in must be a transcript without damage.
    REEF_ASSERT(session.transcript().damage().empty());
  }
  for (const auto& problem : intake.problems()) out += problem.path + problem.why;
  return out;
}

// A second reading must give the same, also when files are read in small pieces.
inline void check_reader(Reader reader, test::MemoryFiles& disk, const std::string& path,
                         std::size_t piece) {
  disk.read_at_most(SIZE_MAX);
  const auto whole = reading_of(reader, disk, path);
  disk.read_at_most(piece);
  REEF_ASSERT(reading_of(reader, disk, path) == whole);
}

}  // namespace reef::fuzz
