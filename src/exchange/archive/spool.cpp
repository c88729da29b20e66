#include "exchange/archive/spool.h"

#include <cerrno>
#include <fcntl.h>

#include "base/assert.h"

namespace reef::exchange {

Status Spool::begin(std::string path) {
  REEF_ASSERT(queue_.empty() || queue_.back().ended);
  REEF_CHECK(check_path(path));
  queue_.push_back(File{std::move(path)});
  return Ok{};
}

Status Spool::write(std::string_view bytes) {
  REEF_ASSERT(!queue_.empty() && !queue_.back().ended);
  memory_ += bytes;
  queue_.back().size += bytes.size();
  return memory_.size() > kMemoryBytesMax ? spill() : Ok{};
}

Status Spool::end() {
  REEF_ASSERT(!queue_.empty() && !queue_.back().ended);
  queue_.back().ended = true;
  return Ok{};
}

Status Spool::spill() {
  if (!file_) {
    file_ = Fd(::open(folder_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    if (!file_) return sys_error(errno, "make a temporary file in " + folder_);
  }
  REEF_CHECK(write_all(files_, file_.get(), memory_));
  spilled_ += memory_.size();
  memory_.clear();
  return Ok{};
}

Result<std::string> Spool::read(std::uint64_t size) {
  if (read_ >= spilled_) {
    auto bytes = memory_.substr(read_ - spilled_, size);
    read_ += bytes.size();
    return bytes;
  }
  REEF_TRY(auto bytes, read_range(files_, file_.get(), read_, std::min(size, spilled_ - read_)));
  if (bytes.empty()) return Error(Errc::io, "a temporary file became shorter");
  read_ += bytes.size();
  return bytes;
}

Result<std::optional<Spool::Piece>> Spool::take(std::size_t bytes_max) {
  if (queue_.empty() || !queue_.front().ended) return std::optional<Piece>();
  auto& file = queue_.front();
  Piece piece;
  if (file.taken == 0) piece.path = file.path;
  if (file.taken < file.size) {
    REEF_TRY(piece.data, read(std::min<std::uint64_t>(bytes_max, file.size - file.taken)));
    file.taken += piece.data.size();
  }
  piece.ends = file.taken == file.size;
  if (piece.ends) queue_.pop_front();
  if (queue_.empty()) {
    memory_ = std::string();
    file_.reset();
    read_ = spilled_ = 0;
  }
  return std::optional<Piece>(std::move(piece));
}

}  // namespace reef::exchange
