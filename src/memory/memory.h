// Table of contents of memory/, and its heart: a Memory is what one agent remembers, kept in one
// file; Memories is those of all agents. docs/memory.md tells how it works.
//
//   crmem.h       Entry, Contents, parse, serialize      the file format
//   operations.h  Add, Write, Rename, ...; apply         what can be done to it
//   recall.h      Index, Hit                             ranking entries for a question
//   dump.h        to_tree, from_tree                      Markdown for people, and back
//   card.h        Card                                   one file of that
//   uploads.h     Uploads                                memories that come in parts
//   memory.h      Memory, Memories                       this file
//
// Memory and Memories belong to the loop thread; the pool reads, changes and writes. What changes
// something runs to its end even when the task that asked for it is cancelled.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/notify.h"
#include "base/pool.h"
#include "memory/operations.h"
#include "memory/recall.h"
#include "memory/uploads.h"
#include "session/documents.h"

namespace reef::memory {

class Memory {
 public:
  Memory(Executor loop, session::Documents& documents, Pool& pool, Clock& clock, std::string name);

  // What is on disk, also when another program put it there since. `corrupt` when it cannot be
  // read: nothing else works then, and the file is not touched.
  Task<Result<std::shared_ptr<const Contents>>> contents();
  // Durable when it returns; on an error nothing has changed, in memory and on disk. Calls made
  // while another is being written share the next write, in the order of the calls.
  Task<Result<EntryPtr>> apply(Operation operation);
  Task<Result<std::vector<Hit>>> recall(std::string query, std::size_t limit);

 private:
  struct Pending {
    Operation operation;
    std::optional<Result<EntryPtr>> outcome = {};  // the pool's until `done`
    bool done = false;                             // and durable; the loop's
  };
  struct Round;

  Task<Result<EntryPtr>> wait_for(std::shared_ptr<Pending> mine);
  Task<Result<std::shared_ptr<const Contents>>> look();
  // Compares with the disk and does all that waits. The only one that uses the file.
  Task<void> work();

  session::Documents& documents_;
  Pool& pool_;
  Clock& clock_;
  const std::string name_;
  // nullptr until it was read, and in doubt: it is read again before anything is believed.
  std::shared_ptr<const Contents> contents_;
  std::optional<session::Version> version_;  // of what contents_ was read from; none: no file
  std::optional<Error> unreadable_;
  std::shared_ptr<const Index> index_;
  std::shared_ptr<const Contents> indexed_;
  bool working_ = false;
  std::deque<std::shared_ptr<Pending>> queue_;
  Notify changed_;
};

class Memories {
 public:
  // Their files are memory/<agent>.crmem.
  Memories(Executor loop, session::Documents& documents, Pool& pool, Clock& clock);

  // That of an agent; read when it is used. invalid when a file cannot have the agent's name.
  Result<std::shared_ptr<Memory>> of(std::string_view agent);
  // Whether there is a file.
  Task<Result<bool>> exists(std::string agent);
  // An agent has a new name: its file follows, if there is one. `conflict` when there is one of the
  // new name already.
  Task<Status> rename(std::string from, std::string to);
  Uploads& uploads() { return uploads_; }

 private:
  struct Cached {
    std::shared_ptr<Memory> memory;
    std::uint64_t used = 0;
  };

  Executor loop_;
  session::Documents& documents_;
  Pool& pool_;
  Clock& clock_;
  std::map<std::string, Cached, std::less<>> cache_;  // by agent
  std::uint64_t uses_ = 0;
  Uploads uploads_;
};

// <agent>.crmem; what a file name must not hold is written as %XX, so that no two agents share one.
Result<std::string> file_name_of(std::string_view agent);

}  // namespace reef::memory
