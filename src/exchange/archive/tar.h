// Archives of plain files that every tar can read (ustar, with pax records for what is too long).
// Pure: bytes in and out; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace reef::exchange {

struct TarFile {
  std::string path;  // valid for an Outlet
  std::uint64_t size = 0;
  std::int64_t modified = 0;  // Unix seconds
  bool executable = false;
};

// The bytes before a file's content, and those after it.
std::string tar_header(const TarFile& file);
std::string tar_padding(std::uint64_t size);
// The bytes at the end of an archive.
std::string tar_end();

// Reads an archive a piece at a time. Anything in it but files and folders is an error, as is a
// path that leads out.
class TarReader {
 public:
  class Sink {
   public:
    virtual ~Sink() = default;
    virtual Status begin(const TarFile& file) = 0;
    virtual Status data(std::string_view bytes) = 0;
    virtual Status end() = 0;
  };

  explicit TarReader(Sink& sink) : sink_(sink) {}

  Status feed(std::string_view bytes);
  // Call at the end of the input. An error when the archive is incomplete.
  Status finish() const;

 private:
  enum class State : std::uint8_t { header, data, record, long_name, skip, padding, end };

  Status header(std::string_view block);
  Status begin_file(std::string path, std::string_view block);
  Status end_entry();
  Status take_records();

  Sink& sink_;
  State state_ = State::header;
  std::string held_;           // part of a header, or of records
  std::uint64_t left_ = 0;     // bytes left of the current entry
  std::uint64_t padding_ = 0;  // bytes after it
  std::string path_;           // from records, for the next file
  std::uint64_t size_ = UINT64_MAX;
};

}  // namespace reef::exchange
