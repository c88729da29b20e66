#include "exchange/foreign_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

namespace reef::exchange {
namespace {

constexpr std::size_t kBlockBytes = 1 << 18;

// No conversation is older or newer than these, in milliseconds.
constexpr double kEarliest = 946'684'800e3;  // 2000
constexpr double kLatest = 4'102'444'800e3;  // 2100

std::optional<TimePoint> believable(double millis) {
  if (!(millis >= kEarliest && millis <= kLatest)) return std::nullopt;
  return TimePoint(std::chrono::milliseconds(static_cast<std::int64_t>(millis)));
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r") == std::string_view::npos;
}

}  // namespace

Result<Fd> open_source(Files& files, const std::string& path) {
  REEF_TRY(Fd fd, files.open(path, Files::Open::source));
  REEF_TRY(const auto stat, files.stat(fd.get()));
  if (stat.directory) return Error(Errc::invalid, "a folder stands in place of the file");
  if (!stat.regular) return Error(Errc::invalid, "it is no file");
  return fd;
}

Result<std::string> read_source(Files& files, const std::string& path) {
  REEF_TRY(const Fd fd, open_source(files, path));
  REEF_TRY(const auto stat, files.stat(fd.get()));
  if (stat.size > kLineBytesMax)
    return Error(Errc::too_large, fmt::format("{} bytes are too many for this file", stat.size));
  return read_range(files, fd.get(), 0, stat.size);
}

bool is_directory(Files& files, const std::string& path) {
  const auto stat = files.stat_path(path);
  return stat && stat->directory;
}

bool is_there(Files& files, const std::string& path) {
  return files.stat_path(path).ok();
}

std::string source_mark(const Files::Stat& stat) {
  return fmt::format("{}@{}", stat.size, stat.modified_ns);
}

TimePoint modified_time(const Files::Stat& stat) {
  return believable(static_cast<double>(stat.modified_ns) / 1e6)
      .value_or(TimePoint(std::chrono::milliseconds(static_cast<std::int64_t>(kEarliest))));
}

std::optional<TimePoint> time_from(const json::value* value) {
  if (!value) return std::nullopt;
  if (const auto* text = value->if_string()) {
    const auto time = parse_iso(*text);
    return time ? believable(static_cast<double>(unix_millis(*time))) : std::nullopt;
  }
  double number = 0;
  if (value->is_int64()) {
    number = static_cast<double>(value->get_int64());
  } else if (value->is_uint64()) {
    number = static_cast<double>(value->get_uint64());
  } else if (value->is_double()) {
    number = value->get_double();
  } else {
    return std::nullopt;
  }
  for (const double scale : {1.0, 1e3, 1e-3, 1e-6})
    if (const auto time = believable(number * scale)) return time;
  return std::nullopt;
}

std::string_view base_name(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::string parent_path(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  const auto slash = path.rfind('/');
  if (slash == std::string_view::npos) return ".";
  return std::string(path.substr(0, slash == 0 ? 1 : slash));
}

Report::~Report() {
  if (count_ > kNamedMax)
    intake_.problem({path_, 0, fmt::format("{} more lines could not be read", count_ - kNamedMax)});
}

void Report::operator()(std::uint64_t line, std::string why) {
  if (++count_ <= kNamedMax) intake_.problem({path_, line, std::move(why)});
}

LineInHand::LineInHand(std::size_t bytes) {
  constexpr std::size_t kLongBytes = 2 << 20;
  static std::mutex one;
  if (bytes > kLongBytes) alone_ = std::unique_lock(one);
}

Result<LineReader> LineReader::open(Files& files, const std::string& path) {
  REEF_TRY(Fd fd, open_source(files, path));
  REEF_TRY(const auto stat, files.stat(fd.get()));
  return LineReader(files, std::move(fd), stat);
}

Result<bool> LineReader::fill() {
  if (begin_ > 0) {
    std::memmove(data_.get(), data_.get() + begin_, end_ - begin_);
    scanned_ -= begin_;
    end_ -= begin_;
    begin_ = 0;
  }
  if (capacity_ - end_ < kBlockBytes / 2) {
    const auto wanted =
        std::clamp<std::size_t>(capacity_ * 2, kBlockBytes, kLineBytesMax + kBlockBytes);
    auto larger = std::make_unique_for_overwrite<char[]>(wanted);
    if (end_ > 0) std::memcpy(larger.get(), data_.get(), end_);
    data_ = std::move(larger);
    capacity_ = wanted;
  }
  for (;;) {
    auto got = files_->read(fd_.get(), offset_, data_.get() + end_, capacity_ - end_);
    if (!got) {
      if (got.error().sys == EINTR) continue;
      return std::move(got).error();
    }
    offset_ += *got;
    end_ += *got;
    return *got > 0;
  }
}

std::optional<LineReader::Line> LineReader::finish(std::size_t size, bool ended) {
  std::string_view text(data_.get() + begin_, size);
  begin_ = scanned_ = begin_ + size + (ended ? 1 : 0);
  ++number_;
  if (std::exchange(skipping_, false) || size > kLineBytesMax)
    return Line{"", number_, ended, true};
  if (number_ == 1 && text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  while (text.ends_with('\r')) text.remove_suffix(1);
  if (is_blank(text)) return std::nullopt;
  return Line{text, number_, ended, false};
}

Result<std::optional<LineReader::Line>> LineReader::next() {
  for (;;) {
    const void* newline =
        end_ > scanned_ ? std::memchr(data_.get() + scanned_, '\n', end_ - scanned_) : nullptr;
    if (newline) {
      const auto at = static_cast<std::size_t>(static_cast<const char*>(newline) - data_.get());
      if (auto line = finish(at - begin_, true)) return line;
      continue;
    }
    scanned_ = end_;
    if (end_ - begin_ > kLineBytesMax) skipping_ = true;
    if (skipping_) begin_ = end_;
    REEF_TRY(const bool more, fill());
    if (more) continue;
    if (end_ == begin_ && !skipping_) return std::optional<Line>();
    if (auto line = finish(end_ - begin_, false)) return line;
  }
}

std::uint64_t LineReader::consumed() {
  const auto now = offset_ - (end_ - begin_);
  return now - std::exchange(reported_, now);
}

std::optional<json::object> first_object(Files& files, const std::string& path) {
  auto lines = LineReader::open(files, path);
  if (!lines) return std::nullopt;
  const auto line = lines->next();
  if (!line || !*line) return std::nullopt;
  const LineInHand in_hand((*line)->text.size());
  auto value = json::parse_lenient((*line)->text);
  if (!value || !value->is_object()) return std::nullopt;
  return std::move(value->get_object());
}

}  // namespace reef::exchange
