// A file that is written once and read through a memory map. Each piece has its own checksum and is
// checked when it is first used, so that opening a large file costs nothing.
//
//   file   := content padding pieces footer
//   pieces := XXH3 of every kPieceBytes of content (the last one may be shorter)
//   footer := u64 content bytes, u64 XXH3 of the pieces, u64 length of the file, u64 XXH3 of the
//             three and of the magic before them
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"

namespace reef::search {

inline constexpr std::size_t kPieceBytes = 16 * 1024;

// Returns the bytes of a whole file with this content, exactly as CheckedFileWriter writes it; the
// length is a multiple of 8.
std::string seal(std::string content);

class CheckedFileWriter {
 public:
  // The file must not exist yet. It is removed again unless `finish` succeeds.
  static Result<CheckedFileWriter> create(Files& files, std::string path);
  CheckedFileWriter(CheckedFileWriter&& other) noexcept;
  CheckedFileWriter& operator=(CheckedFileWriter&&) = delete;
  ~CheckedFileWriter();

  std::uint64_t offset() const { return offset_; }
  Status write(std::string_view bytes);
  // Pads to a multiple of 8 bytes.
  Status align();
  // Makes the file durable, except for its name in the directory. Returns the file's length.
  Result<std::uint64_t> finish();

 private:
  CheckedFileWriter(Files& files, std::string path, Fd fd)
      : files_(&files), path_(std::move(path)), fd_(std::move(fd)) {}
  Status flush(bool all);

  Files* files_;
  std::string path_;
  Fd fd_;
  std::string pending_;  // not yet written
  std::string pieces_;
  std::uint64_t offset_ = 0;
};

class CheckedFile {
 public:
  // Fails with corrupt when the footer does not fit. `bytes` is the length that the manifest
  // states.
  static Result<std::unique_ptr<CheckedFile>> open(Files& files, const std::string& path,
                                                   std::uint64_t bytes);
  // Reads bytes that the caller keeps, with readable slack behind them; for tests.
  static Result<std::unique_ptr<CheckedFile>> over(std::string_view file);
  ~CheckedFile();
  CheckedFile(const CheckedFile&) = delete;
  CheckedFile& operator=(const CheckedFile&) = delete;

  std::string_view content() const { return {data_, content_}; }
  std::uint64_t length() const { return length_; }
  // Returns true when the pieces under these bytes of the content match their checksums. Any
  // thread.
  bool check(std::string_view bytes) const;
  // True once a piece failed its check or a reader found nonsense in one.
  bool damaged() const { return damaged_.load(std::memory_order_relaxed); }
  void mark_damaged() const { damaged_.store(true, std::memory_order_relaxed); }
  // Tells the system that the pages of these bytes are not needed soon.
  void release(std::string_view bytes) const;

 private:
  CheckedFile() = default;
  Status read_footer();

  const char* data_ = nullptr;
  std::uint64_t content_ = 0;
  std::uint64_t length_ = 0;
  bool mapped_ = false;
  const char* pieces_ = nullptr;
  mutable std::vector<std::atomic<std::uint64_t>> checked_;  // one bit per piece
  mutable std::atomic<bool> damaged_ = false;
};

}  // namespace reef::search
