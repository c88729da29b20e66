// The lines of somebody else's file, one at a time: memory is bounded whatever the size of the
// file. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/files.h"

namespace reef::exchange {

// Changes when a source does.
std::string mark_of(const Files::Stat& stat);

class Lines {
 public:
  // What is longer is passed over.
  static constexpr std::size_t kLineBytesMax = 32U << 20;

  struct Line {
    std::string_view text;     // without its newline; good until the next call
    std::uint64_t number = 0;  // counted from 1
    std::uint64_t bytes = 0;   // in the file, newline included
    bool ended = true;         // by a newline
    bool too_long = false;     // and then there is no text
  };

  // `files` must outlive it. Refuses what is not a plain file.
  static Result<Lines> open(Files& files, const std::string& path);

  // As it was when it was opened.
  const Files::Stat& stat() const { return stat_; }
  // nullopt at the end.
  Result<std::optional<Line>> next();

 private:
  Lines(Files& files, Fd fd, Files::Stat stat) : files_(&files), fd_(std::move(fd)), stat_(stat) {}
  // More bytes behind those held; false at the end of the file.
  Result<bool> fill();
  Result<Line> pass_over(Line line);

  Files* files_;
  Fd fd_;
  Files::Stat stat_;
  std::string buffer_;
  std::size_t from_ = 0;  // what is held: [from_, to_) of the buffer
  std::size_t to_ = 0;
  std::uint64_t offset_ = 0;  // of the next byte to read
  std::uint64_t number_ = 0;
};

}  // namespace reef::exchange
