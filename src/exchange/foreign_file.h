// Reads foreign files, which may hold anything: lines of any length, times of any clock. Any
// thread; one reader a file.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/files.h"
#include "base/json.h"
#include "exchange/exchange.h"

namespace reef::exchange {

// Lines and single values longer than this are not read.
inline constexpr std::uint64_t kLineBytesMax = 32ULL << 20;

// Never waits; anything but a file (a pipe, a device, a folder) is an error.
Result<Fd> open_source(Files& files, const std::string& path);
// A small file as a whole; too_large beyond kLineBytesMax.
Result<std::string> read_source(Files& files, const std::string& path);
bool is_directory(Files& files, const std::string& path);
bool is_there(Files& files, const std::string& path);

// The object in the first line that says anything; nullopt when there is none, for any reason.
std::optional<json::object> first_object(Files& files, const std::string& path);

// A text that changes when the file does.
std::string source_mark(const Files::Stat& stat);
TimePoint modified_time(const Files::Stat& stat);

// A time as programs write them: Unix seconds, milliseconds, microseconds or nanoseconds, told
// apart by their size, or ISO 8601. nullopt for times no conversation can have, such as the year
// 1970 or 9999.
std::optional<TimePoint> time_from(const json::value* value);

// "name" of "/a/b/name", and "/a/b".
std::string_view base_name(std::string_view path);
std::string parent_path(std::string_view path);

// Reports what is wrong with one file. After kNamedMax lines it only counts.
class Report {
 public:
  Report(Intake& intake, std::string path) : intake_(intake), path_(std::move(path)) {}
  ~Report();
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;

  void operator()(std::uint64_t line, std::string why);

 private:
  static constexpr std::uint64_t kNamedMax = 100;

  Intake& intake_;
  std::string path_;
  std::uint64_t count_ = 0;
};

// Lives while a line is parsed and taken in. A long line is held several times over meanwhile, so
// the whole program handles only one of them at a time. Nobody may begin a session while holding
// one: that can wait for another worker.
class LineInHand {
 public:
  explicit LineInHand(std::size_t bytes);

 private:
  std::unique_lock<std::mutex> alone_;
};

// Reads a file a line at a time and holds little more than the longest line. Skips a BOM, carriage
// returns at the ends of lines, and blank lines.
class LineReader {
 public:
  struct Line {
    std::string_view text;  // valid until the next call
    std::uint64_t number = 0;
    bool ended = true;      // by a newline
    bool too_long = false;  // longer than kLineBytesMax; its text is empty
  };

  static Result<LineReader> open(Files& files, const std::string& path);

  // nullopt at the end of the file.
  Result<std::optional<Line>> next();
  // How many bytes were read since the last call.
  std::uint64_t consumed();
  // How many bytes consumed() has not returned yet, up to the end of the file.
  std::uint64_t left() const { return stat_.size > reported_ ? stat_.size - reported_ : 0; }
  const Files::Stat& stat() const { return stat_; }

 private:
  LineReader(Files& files, Fd fd, Files::Stat stat)
      : files_(&files), fd_(std::move(fd)), stat_(stat) {}

  // Makes room and reads on; false at the end of the file.
  Result<bool> fill();
  std::optional<Line> finish(std::size_t size, bool ended);

  Files* files_;
  Fd fd_;
  Files::Stat stat_;
  std::unique_ptr<char[]> data_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;    // where the part not yet given begins
  std::size_t scanned_ = 0;  // no newline before this
  std::size_t end_ = 0;
  std::uint64_t offset_ = 0;  // the place of end_ in the file
  std::uint64_t reported_ = 0;
  std::uint64_t number_ = 0;
  bool skipping_ = false;
};

}  // namespace reef::exchange
