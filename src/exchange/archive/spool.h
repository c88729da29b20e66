// Holds a writer's output until somebody takes it: in memory while it is little, in an unnamed file
// when it is much, so that a slow reader costs no memory. One thread at a time.
#pragma once

#include <deque>
#include <optional>
#include <string>

#include "base/files.h"
#include "exchange/exchange.h"

namespace reef::exchange {

class Spool final : public Outlet {
 public:
  static constexpr std::size_t kMemoryBytesMax = 4U << 20;

  // The file, if one is needed, is made on the file system of `folder`, which must exist by then.
  explicit Spool(std::string folder) : folder_(std::move(folder)) {}

  Status begin(std::string path) override;
  Status write(std::string_view bytes) override;
  Status end() override;

  struct Piece {
    std::string path;  // not empty: a file begins
    std::string data;
    bool ends = false;
  };
  // Returns pieces in the order they were written; nullopt when all is taken. Only whole files are
  // given.
  Result<std::optional<Piece>> take(std::size_t bytes_max);

 private:
  struct File {
    std::string path;
    std::uint64_t size = 0;
    std::uint64_t taken = 0;
    bool ended = false;
  };

  Status spill();
  Result<std::string> read(std::uint64_t size);

  PosixFiles files_;
  std::string folder_;
  std::deque<File> queue_;
  Fd file_;
  std::uint64_t spilled_ = 0;  // bytes in the file
  std::string memory_;         // the bytes after those
  std::uint64_t read_ = 0;     // bytes taken of both
};

}  // namespace reef::exchange
