// What is to be said, to whom and when: kept in one small file, replaced as a whole. Loop thread.
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
  std::string quiet_start = {}, quiet_end = {};  // HH:MM in local time; between them it is skipped
  bool once = false;                             // it goes when it was said
  std::string last_error = {};                   // of the last time; not kept
};

// Whether it is quiet then; the start is, the end is not, and the night may lie between.
bool is_quiet(const Job& job, std::time_t now);

class Jobs {
 public:
  static constexpr std::size_t kJobsMax = 1000;
  static constexpr std::size_t kMessageBytesMax = 64U << 10;

  // A file that cannot be read is an error: it must not be overwritten.
  static Result<Jobs> load(Files& files, std::string path, std::time_t now);

  const std::map<std::string, Job>& all() const { return jobs_; }
  // Adds it or takes the place of the one of that name.
  Status add(const std::string& name, const std::string& schedule, std::string agent,
             std::string message, std::time_t now);
  Status remove(const std::string& name);
  // Takes in what somebody else wrote into the file since it was last read or written (an import, a
  // person). Jobs that stay the same stay due when they were. A broken file changes nothing.
  Status look(std::time_t now);

  // Names of those that are due; each is due again at its next time.
  std::vector<std::string> take_due(std::time_t now);
  // It was said; one that is for once goes.
  Status said(const std::string& name);
  void note(const std::string& name, std::string error);
  // When the next one is due.
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
