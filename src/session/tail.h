// Reads a transcript backwards: only as much of its end as the context needs. Pure but for the
// source of bytes; any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "session/context.h"
#include "session/entry.h"
#include "session/reader.h"

namespace reef::session {

// The bytes of a transcript, wherever they are.
struct ByteSource {
  std::uint64_t size = 0;
  std::function<Result<std::string>(std::uint64_t offset, std::uint64_t size)> read;
};
ByteSource source_of(std::string_view bytes);  // `bytes` must outlive the source

// The end of a transcript as far as a model needs it.
struct Tail {
  std::uint64_t bytes = 0;       // of the whole transcript
  std::uint64_t bytes_read = 0;  // how many were read to find this out
  std::optional<EntryId> leaf;
  Context context;
  int version = Header::kVersion;  // below 3, appending needs an upgrade first
  std::size_t damage = 0;          // found by the forward reader; 0 when it was not needed
};

// Stops at the first entry the newest compaction keeps. Hands anything unusual over to the forward
// reader, so that the result is always the one read_transcript gives.
Result<Tail> read_tail(const ByteSource& source);
// The reference implementation: parses everything.
Result<Tail> read_tail_forwards(const ByteSource& source);

}  // namespace reef::session
