#include "base/log.h"

#include <cstdio>
#include <memory>
#include <mutex>

#include <spdlog/logger.h>
#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include "base/utf8.h"

namespace reef::log {
namespace {

// Protects the pointer; the logger itself is thread-safe.
std::mutex g_mutex;
std::shared_ptr<spdlog::logger> g_logger;

spdlog::level::level_enum to_spdlog(Level level) {
  switch (level) {
    case Level::debug:
      return spdlog::level::debug;
    case Level::info:
      return spdlog::level::info;
    case Level::warn:
      return spdlog::level::warn;
    case Level::error:
      break;
  }
  return spdlog::level::err;
}

std::shared_ptr<spdlog::logger> current() {
  const std::lock_guard lock(g_mutex);
  return g_logger;
}

}  // namespace

std::optional<Level> level_from(std::string_view name) {
  if (name == "debug") return Level::debug;
  if (name == "info") return Level::info;
  if (name == "warn") return Level::warn;
  if (name == "error") return Level::error;
  return std::nullopt;
}

Status open(const Options& options) {
  std::vector<spdlog::sink_ptr> sinks;
  if (options.to_stderr) {
    auto sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
    sink->set_pattern("%H:%M:%S.%e %l %v");
    sinks.push_back(std::move(sink));
  }
  if (!options.file.empty()) {
    try {
      auto sink = std::make_shared<spdlog::sinks::rotating_file_sink_mt>(
          options.file, options.file_bytes_max, options.files_max);
      sink->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %l %v");
      sinks.push_back(std::move(sink));
    } catch (const spdlog::spdlog_ex& failure) {
      return Error(Errc::io, fmt::format("open log {}: {}", options.file, failure.what()));
    }
  }
  auto logger = std::make_shared<spdlog::logger>("reef", sinks.begin(), sinks.end());
  logger->set_level(to_spdlog(options.level));
  logger->flush_on(spdlog::level::info);
  // A full disk must not turn into a line on stderr for every line not written.
  logger->set_error_handler([](const std::string&) {});
  const std::lock_guard lock(g_mutex);
  g_logger = std::move(logger);
  return Ok{};
}

void set_level(Level level) {
  if (const auto logger = current()) logger->set_level(to_spdlog(level));
}

void close() {
  const std::lock_guard lock(g_mutex);
  if (g_logger) g_logger->flush();
  g_logger.reset();
}

void write(Level level, std::string_view line) {
  const auto logger = current();
  const auto clean = utf8::single_line(utf8::printable(line));
  if (logger) {
    logger->log(to_spdlog(level), clean);
  } else if (level >= Level::warn) {
    std::fprintf(stderr, "%s\n", clean.c_str());
  }
}

}  // namespace reef::log
