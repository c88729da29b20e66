// The jobs: what to say, to whom and when. Kept in one small file, which is replaced as a whole.
// Loop thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/files.h"
#include "base/json.h"
#include "schedule.h"

namespace reef::cron {

struct Job {
  Schedule schedule;
  std::string agent;  // empty: the daemon's default
  std::string message;
  std::time_t due = 0;
  std::string sender = {};  // empty: cron:NAME, whose conversation is the job's own
  std::string quiet_start = {}, quiet_end = {};  // HH:MM in local time; skipped between them
  bool once = false;                             // remove it after it was said
  std::string last_error = {};                   // of the last run; not kept in the file
};

// Whether the job is quiet at that time; the start is included, the end is not. The end may be on
// the next day.
bool is_quiet(const Job& job, std::time_t now);

class Jobs {
 public:
  static constexpr std::size_t kJobsMax = 1000;
  static constexpr std::size_t kMessageBytesMax = 64U << 10;

  // A file that cannot be read is an error, because it must not be overwritten.
  static Result<Jobs> load(Files& files, std::string path, std::time_t now);

  const std::map<std::string, Job>& all() const { return jobs_; }
  // Adds a job, or replaces the one of that name.
  Status add(const std::string& name, const std::string& schedule, std::string agent,
             std::string message, std::time_t now);
  Status remove(const std::string& name);
  // Reads changes that somebody else made to the file (an import, a person). Unchanged jobs stay
  // due when they were. A broken file changes nothing.
  Status look(std::time_t now);

  // Returns the names of the jobs that are due, and sets each to its next time.
  std::vector<std::string> take_due(std::time_t now);
  // Call when the job was said; a job that runs once is removed.
  Status said(const std::string& name);
  void note(const std::string& name, std::string error);
  // The time at which the next job is due.
  std::optional<std::time_t> next() const;

 private:
  Jobs(Files& files, std::string path) : files_(&files), path_(std::move(path)) {}
  Status put(const std::string& name, const json::object& from, std::time_t now);
  Status save(const std::map<std::string, Job>& jobs);
  Status read(std::time_t now);
  void note_stat();

  Files* files_;
  std::string path_;
  std::map<std::string, Job> jobs_;
  std::optional<Files::Stat> stat_;  // of the file, as it was last read or written
};

}  // namespace reef::cron
