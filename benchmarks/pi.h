// pi's own SessionManager on the files Reef wrote, in a node process of its own.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace reef::benchmarks {

// Work is repeated in one process until either is reached.
inline constexpr int kRepeatsMax = 51;
inline constexpr double kRepeatSecondsMax = 1.5;

// What a process that did nothing else measured. Reef's own prints the same (sessions.h).
struct Report {
  double ms = 0;        // median
  double peak_mib = 0;  // VmHWM after the first time
  double read_kib = 0;  // 0: not known
  std::size_t count = 0;
};
// A JSON object with these names.
Result<Report> parse_report(std::string_view text);

class Pi {
 public:
  // Installs it into ~/.cache/reef-interop/pi-0.73.1 when it is not there. The error says why it is
  // left out.
  static Result<Pi> find();

  // `scratch` is a directory for the script and what it says.
  // SessionManager.open and buildSessionContext; counts messages.
  Result<Report> open(const std::string& file, const std::string& scratch) const;
  // SessionManager.list of the *.jsonl in `directory`; counts sessions.
  Result<Report> list(const std::string& directory, const std::string& scratch) const;

 private:
  explicit Pi(std::string module) : module_(std::move(module)) {}
  std::string module_;  // the file with SessionManager
};

}  // namespace reef::benchmarks
