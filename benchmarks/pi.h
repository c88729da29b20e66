// Runs pi's own SessionManager on files that Reef wrote, in a separate node process.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace reef::benchmarks {

// The work is repeated in one process until one of these is reached.
inline constexpr int kRepeatsMax = 51;
inline constexpr double kRepeatSecondsMax = 1.5;

// The measurements of a process that does nothing else. Our own process prints the same
// (sessions.h).
struct Report {
  double ms = 0;        // median
  double peak_mib = 0;  // VmHWM after the first run
  double read_kib = 0;  // 0 when unknown
  std::size_t count = 0;
};
// Parses a JSON object with these names.
Result<Report> parse_report(std::string_view text);

class Pi {
 public:
  // Installs pi into ~/.cache/reef-interop/pi-0.73.1 if needed. The error says why pi is left out.
  static Result<Pi> find();

  // `scratch` is a directory for the script and its output.
  // Runs SessionManager.open and buildSessionContext; counts messages.
  Result<Report> open(const std::string& file, const std::string& scratch) const;
  // Runs SessionManager.list on the *.jsonl in `directory`; counts sessions.
  Result<Report> list(const std::string& directory, const std::string& scratch) const;

 private:
  explicit Pi(std::string module) : module_(std::move(module)) {}
  std::string module_;  // the file with SessionManager
};

}  // namespace reef::benchmarks
