// Durations, and statistics of many.
#pragma once

#include <chrono>
#include <vector>

namespace reef::benchmarks {

using Nanos = std::chrono::nanoseconds;

inline std::chrono::steady_clock::time_point now() {
  return std::chrono::steady_clock::now();
}

inline double in_us(Nanos duration) {
  return static_cast<double>(duration.count()) / 1e3;
}
inline double in_ms(Nanos duration) {
  return static_cast<double>(duration.count()) / 1e6;
}
inline double in_seconds(Nanos duration) {
  return static_cast<double>(duration.count()) / 1e9;
}

class Samples {
 public:
  void add(Nanos duration) { all_.push_back(duration); }
  void add(const Samples& others) {
    all_.insert(all_.end(), others.all_.begin(), others.all_.end());
  }
  std::size_t size() const { return all_.size(); }
  // Returns the smallest sample that at least `percent` of all do not exceed. There must be a
  // sample.
  Nanos percentile(unsigned percent) const;
  Nanos median() const { return percentile(50); }

 private:
  std::vector<Nanos> all_;
};

// How often each query is measured, once all it needs is in memory. The median counts, because a
// shared machine pauses for milliseconds now and then.
inline constexpr std::size_t kQueryRounds = 9;

// Samples of the same queries in several rounds.
class Rounds {
 public:
  explicit Rounds(std::size_t queries) : samples_(queries) {}
  void add(std::size_t query, Nanos duration) { samples_[query].add(duration); }
  // Returns one sample per query.
  Samples medians() const {
    Samples out;
    for (const auto& one : samples_) out.add(one.median());
    return out;
  }

 private:
  std::vector<Samples> samples_;
};

// Call it before queries are measured: writes everything to disk, so that write-back does not
// disturb them.
void settle();

// The CPU time that all threads of a process have used so far; zero when it is gone.
Nanos cpu_time_of(int pid);

}  // namespace reef::benchmarks
