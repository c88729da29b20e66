#include "exchange/lines.h"

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

namespace reef::exchange {
namespace {

constexpr std::size_t kBlockBytes = 512U << 10;

}  // namespace

std::string mark_of(const Files::Stat& stat) {
  return fmt::format("{}-{}", stat.size, stat.modified_ns);
}

Result<Lines> Lines::open(Files& files, const std::string& path) {
  REEF_TRY(Fd fd, files.open(path, Files::Open::source));
  REEF_TRY(const auto stat, files.stat(fd.get()));
  if (stat.directory) return Error(Errc::invalid, "read " + path + ": is a directory");
  if (!stat.regular) return Error(Errc::invalid, "read " + path + ": is not a plain file");
  return Lines(files, std::move(fd), stat);
}

Result<bool> Lines::fill() {
  if (from_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + from_, to_ - from_);
    to_ -= from_;
    from_ = 0;
  }
  // A long line makes it larger, and is read in larger pieces.
  if (buffer_.size() - to_ < kBlockBytes / 2)
    buffer_.resize(std::max(kBlockBytes, buffer_.size() * 2));
  for (;;) {
    auto got = files_->read(fd_.get(), offset_, buffer_.data() + to_, buffer_.size() - to_);
    if (!got && got.error().sys == EINTR) continue;
    if (!got) return std::move(got).error();
    to_ += *got;
    offset_ += *got;
    return *got > 0;
  }
}

Result<std::optional<Lines::Line>> Lines::next() {
  Line line;
  line.number = ++number_;
  std::size_t looked = 0;
  for (;;) {
    const auto held = std::string_view(buffer_).substr(from_, to_ - from_);
    const auto end = held.find('\n', looked);
    if (end != std::string_view::npos) {
      line.text = held.substr(0, end);
      line.bytes = end + 1;
      from_ += end + 1;
      return std::optional<Line>(line);
    }
    looked = held.size();
    if (looked > kLineBytesMax) {
      REEF_TRY(line, pass_over(line));
      return std::optional<Line>(line);
    }
    REEF_TRY(const bool more, fill());
    if (more) continue;
    if (from_ == to_) return std::optional<Line>();
    line.text = std::string_view(buffer_).substr(from_, to_ - from_);
    line.bytes = to_ - from_;
    line.ended = false;
    from_ = to_;
    return std::optional<Line>(line);
  }
}

Result<Lines::Line> Lines::pass_over(Line line) {
  line.too_long = true;
  buffer_ = std::string();
  line.bytes = to_ - from_;
  from_ = to_ = 0;
  for (;;) {
    REEF_TRY(const bool more, fill());
    if (!more) {
      line.ended = false;
      return line;
    }
    const auto end = std::string_view(buffer_).substr(0, to_).find('\n');
    if (end != std::string_view::npos) {
      line.bytes += end + 1;
      from_ = end + 1;
      return line;
    }
    line.bytes += to_;
    from_ = to_ = 0;
  }
}

}  // namespace reef::exchange
