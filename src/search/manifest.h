// Lists the files of the index, the documents deleted in them, and how far each group is covered.
// It is always replaced as a whole. docs/search.md describes the bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "search/build.h"

namespace reef::search {

inline constexpr std::string_view kManifestName = "manifest";

struct ManifestSegment {
  std::uint64_t number = 0;  // names the file
  std::uint64_t bytes = 0;
  std::uint32_t documents = 0;
  Tombstones deleted;
  std::vector<std::uint32_t> groups;  // ascending; these are lost with the file
};

struct ManifestGroup {
  std::uint32_t number = 0;
  std::uint64_t covered = 0;
  std::string name;
};

struct Manifest {
  std::uint64_t next_segment = 1;
  std::uint32_t next_group = 0;
  std::vector<ManifestSegment> segments;
  std::vector<ManifestGroup> groups;
};

std::string write_manifest(const Manifest& manifest);
// Fails with corrupt when damaged, unsupported when of another version.
Result<Manifest> read_manifest(std::string_view bytes);

}  // namespace reef::search
