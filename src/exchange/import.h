// Imports in the daemon: one at a time, readers on the pool, sessions adopted on the loop. Loop
// thread unless a comment says otherwise. docs/exchange.md tells how.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/notify.h"
#include "base/pool.h"
#include "base/task_group.h"
#include "exchange/exchange.h"
#include "exchange/sources.h"
#include "session/session.h"

namespace reef::exchange {

struct ImportRequest {
  const Source& source;
  std::string path;  // absolute
  bool redact = false;
  bool dry_run = false;
  bool keys = false;  // bind also the keys that the sessions' own files claim
};

struct ImportCounts {
  std::uint64_t sessions = 0;     // seen
  std::uint64_t added = 0;        // new here
  std::uint64_t continued = 0;    // already here, and grew
  std::uint64_t unchanged = 0;    // already here, nothing new
  std::uint64_t entries = 0;      // added
  std::uint64_t bytes = 0;        // of the source, read
  std::uint64_t definitions = 0;  // taken
  std::uint64_t redacted = 0;     // places
};

// Takes a definition that another part of the daemon keeps. False when it was there already.
using Keeper = std::function<Task<Result<bool>>(Definition)>;

struct ImportNeeds {
  Executor loop;
  Files& files;  // of others
  session::Documents& documents;
  Pool& pool;
  session::Sessions& sessions;
  session::Transcripts& transcripts;
  Clock& clock;
  Random& random;
  std::string home;
  Keeper organise = nullptr;   // statuses and labels
  Keeper remember = nullptr;   // archives and notes, whose agent is in the body
  Keeper subscribe = nullptr;  // subscriptions
  // Called when an import begins; work in the background pauses as long as the token lives.
  std::function<std::shared_ptr<void>()> quiet = nullptr;
  // The permission mode of a session that sets none. Takes agent, sender and key.
  std::function<std::string(const std::string&, const std::string&, const std::string&)> own_mode =
      nullptr;
};

// A working directory of imported sessions.
struct ImportDirectory {
  std::string path;
  std::uint64_t sessions = 0;
};

class ImportJob;

// A handle on one import, for whoever waits for it.
class Import {
 public:
  explicit Import(std::shared_ptr<ImportJob> job) : job_(std::move(job)) {}

  // Ends the import at the next chance. Whole sessions stay, half-read ones are discarded.
  void cancel();
  bool done() const;
  // Valid once done; an error when something ended the import early.
  const Status& outcome() const;
  bool cancelled() const;
  ImportCounts counts() const;
  std::uint64_t bytes_total() const;  // 0: not known yet
  // The problems found since the last call.
  std::vector<Problem> take_problems();
  // How many problems did not fit into the list.
  std::uint64_t problems_left_out() const;
  // The claims of files that were refused since the last call.
  std::vector<Problem> take_refused();
  std::vector<ImportDirectory> directories() const;
  // Whether definitions came that need the configuration to be read again.
  bool agents_came() const;
  // Returns when it is done, or at the deadline.
  Task<void> wait(std::chrono::milliseconds patience);

 private:
  std::shared_ptr<ImportJob> job_;
};

class Importer {
 public:
  explicit Importer(ImportNeeds needs);
  ~Importer();

  // busy when one is running.
  Result<Import> start(ImportRequest request);
  void cancel();
  // Shutdown: cancels and waits for the end.
  Task<void> stop();

 private:
  Task<void> run(std::shared_ptr<ImportJob> job);

  ImportNeeds needs_;
  std::shared_ptr<ImportJob> running_;
  bool stopping_ = false;
  TaskGroup tasks_;
};

// Removes what a crash left of imports; called at start.
Status clear_staging(Files& files, const std::string& home);

}  // namespace reef::exchange
