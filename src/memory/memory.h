// Table of contents of memory/, and its main classes: a Memory holds what one agent remembers, in
// one file; Memories holds the memories of all agents. docs/memory.md explains how it works.
//
//   crmem.h       Entry, Contents, parse, serialize      the file format
//   operations.h  Add, Write, Rename, ...; apply         the changes to a memory
//   ranking.h     Index, Hit                             ranking entries for a question
//   dump.h        to_tree, from_tree                      Markdown for people, and back
//   card.h        Card                                   one file of a dump
//   uploads.h     Uploads                                memories that come in parts
//   memory.h      Memory, Memories                       this file
//
// Memory and Memories belong to the loop thread; the pool reads, changes and writes. A change runs
// to its end even when the task that asked for it is cancelled.
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
#include "memory/ranking.h"
#include "memory/uploads.h"
#include "session/documents.h"

namespace reef::memory {

class Memory {
 public:
  Memory(Executor loop, session::Documents& documents, Pool& pool, Clock& clock, std::string name);

  // Returns what is on disk, even if another program wrote it. Fails with `corrupt` when it cannot
  // be read; then every call fails and the file is not touched.
  Task<Result<std::shared_ptr<const Contents>>> contents();
  // Durable when it returns; an error means that nothing has changed, neither in memory nor on
  // disk. Calls made during a write share the next write, in the order of the calls.
  Task<Result<EntryPtr>> apply(Operation operation);
  Task<Result<std::vector<Hit>>> recall(std::string query, std::size_t limit);

 private:
  struct Pending {
    Operation operation;
    std::optional<Result<EntryPtr>> outcome = {};  // belongs to the pool until `done`
    bool done = false;                             // set on the loop, once the outcome is durable
  };
  struct Round;

  Task<Result<EntryPtr>> wait_for(std::shared_ptr<Pending> mine);
  Task<Result<std::shared_ptr<const Contents>>> look();
  // Compares with the disk and runs all waiting operations. Nothing else uses the file.
  Task<void> work();

  session::Documents& documents_;
  Pool& pool_;
  Clock& clock_;
  const std::string name_;
  // nullptr until it was read, and after a doubtful write, so that it is read again before use.
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

  // Returns an agent's memory, which is read on first use. Fails with invalid when the name cannot
  // become a file name.
  Result<std::shared_ptr<Memory>> of(std::string_view agent);
  // Tells whether the agent has a file.
  Task<Result<bool>> exists(std::string agent);
  // Renames the agent's file, if it has one. Fails with `conflict` when the new name has one
  // already.
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

// Returns <agent>.crmem; bytes that a file name must not contain become %XX, so no two agents share
// one.
Result<std::string> file_name_of(std::string_view agent);

}  // namespace reef::memory
