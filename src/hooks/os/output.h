// Takes a command's output of any length: the model gets the beginning and the end, and when that
// is not all, everything is kept in the session's long_responses/. Loop thread; the file work runs
// on the pool.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "base/clock.h"
#include "base/files.h"
#include "base/pool.h"

namespace reef::hooks::os {

class Output {
 public:
  static constexpr std::uint64_t kKeptBytesMax = 64U << 20;

  // `folder` is the session's; `name` what the file is called, without an ending.
  Output(Pool& pool, std::string folder, std::string name, std::size_t shown_bytes);

  Task<void> take(std::string bytes);

  struct Shown {
    std::string text;  // valid UTF-8
    std::string path;  // empty when all is shown, or when the file could not be written
  };
  Task<Shown> finish();

 private:
  Task<void> keep(std::string bytes);

  Pool& pool_;
  std::string folder_, name_;
  std::size_t shown_bytes_;
  std::string head_, tail_;
  std::uint64_t total_ = 0, kept_ = 0;
  std::string path_, problem_;
  Fd file_;
  bool opened_ = false;
};

// Passes output to whoever reads along: whole characters, much at first and then a little each
// second.
class Progress {
 public:
  explicit Progress(std::function<void(std::string)> tell);
  void take(std::string_view bytes, std::chrono::steady_clock::time_point now);

 private:
  std::function<void(std::string)> tell_;
  std::string cut_;  // the beginning of a character that is not whole
  double room_;
  std::chrono::steady_clock::time_point last_ = {};
  bool left_out_ = false;
};

}  // namespace reef::hooks::os
