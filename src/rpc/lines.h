// Splits bytes into lines, wherever the pieces were cut. A line beyond the limit is dropped and
// counted, and reading goes on after it. Belongs to one reader.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "rpc/message.h"

namespace reef::rpc {

class Lines {
 public:
  explicit Lines(std::size_t line_bytes_max = kMessageBytesMax) : bytes_max_(line_bytes_max) {}

  void feed(std::string_view bytes) { buffer_ += bytes; }
  // Returns the next line that is not blank, without its end; nullopt until more bytes come.
  std::optional<std::string> next();
  std::size_t dropped() const { return dropped_; }

 private:
  std::size_t bytes_max_;
  std::string buffer_;
  std::size_t start_ = 0;
  std::size_t seen_ = 0;   // no line ends before this
  bool dropping_ = false;  // inside a line that is too long
  std::size_t dropped_ = 0;
};

}  // namespace reef::rpc
