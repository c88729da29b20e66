// The daemon's log: human lines on stderr and a rotating file. Any thread. Words of a conversation
// and secrets never go here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/core.h>

#include "base/result.h"

namespace reef::log {

enum class Level : std::uint8_t { debug, info, warn, error };

std::optional<Level> level_from(std::string_view name);

struct Options {
  std::string file;  // empty: stderr only
  std::size_t file_bytes_max = 8U << 20;
  std::size_t files_max = 5;
  Level level = Level::info;
  bool to_stderr = true;
};

// Until called, and after close(), lines go to stderr from level warn up.
Status open(const Options& options);
void set_level(Level level);
void close();

void write(Level level, std::string_view line);

template <class... Args>
void debug(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::debug, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void info(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::info, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void warn(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::warn, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void error(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::error, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace reef::log
