// Table of contents of recall/: search over all sessions.
//
//   document.h   said_in, Place        the searchable part of an entry
//   question.h   parse_question        a question as it was typed
//   ranking.h    rank                  which entries answer it best
//   items.h      read_each_item        the entries as they are shown
//   recall.h     Recall                this file: the index of all sessions, kept up to date
//
// The index is derived: deleting index/ loses nothing. Loop thread; transcripts are read and parsed
// on the pool, and so is the work on index files.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/files.h"
#include "base/helper.h"
#include "base/notify.h"
#include "base/pool.h"
#include "base/task_group.h"
#include "recall/items.h"
#include "recall/question.h"
#include "recall/reading.h"
#include "search/index.h"
#include "session/session.h"

namespace reef::recall {

inline constexpr std::size_t kHitsMax = 20;
inline constexpr std::size_t kWindowMax = 16;  // items, including the hit
inline constexpr std::size_t kSnippetBytesMax = 1024;

struct SearchResult;

using RowTest = std::function<bool(const session::Row&)>;

// Item `at` of a hit. Windows of neighbouring hits share items.
struct ItemPlace {
  std::size_t hit = 0;
  std::size_t at = 0;
};

struct Ask {
  std::string query;
  std::size_t limit = 10;  // at most kHitsMax
  std::size_t offset = 0;  // number of the first hit
  std::size_t before = 4, after = 4;
  bool by_session = false;
  bool last_word_is_prefix = false;
  std::optional<session::SessionId> exclude;
  // Tells which sessions may be found; empty: all. It is called for every session, so it must be
  // quick.
  RowTest allowed;
  // Turns the question's conditions on sessions into a test; after an error they are read as words.
  std::function<Result<RowTest>(const std::string&)> filter;
  // Called with the answer while its items are still being read, for work that can be done
  // meanwhile.
  std::function<void(const SearchResult&)> while_reading;
  // If set, the answer keeps no items; each is handed over here once, as it is read, with all
  // places where it is shown. Runs on any thread and several at once, but the items of one stretch
  // come one after the other. There are no more stretches than items.
  std::function<void(std::size_t stretch, std::span<const ItemPlace> places, Item& item)> use_item;
};

struct Found {
  session::SessionId session;
  double score = 0;
  std::size_t hit = 0;    // which of the items is the hit
  std::size_t count = 0;  // number of items
  std::string entry{};    // id of the hit's entry
  std::vector<Item> items{};
};

struct SearchResult {
  std::vector<Found> hits;
  bool more = false;  // there are more after these
};

struct Messages {
  std::vector<Item> items;
  std::uint64_t total = 0;
};

class Recall {
 public:
  Recall(Executor loop, session::Sessions& sessions, session::Transcripts& transcripts, Pool& pool,
         Files& files, std::string directory);

  // Opens the files of the index in the background; the sessions need not be loaded yet.
  void begin_load();
  // Call it once the sessions are loaded: reads in the background what the index does not cover. A
  // damaged index is built again. Only searches wait for this.
  Task<Status> load();
  // Writes to disk what is only in memory.
  Task<void> stop();

  // Call it when the session grew, was rewritten, came or went. It returns quickly.
  void changed(const session::SessionId& id, bool rewritten);
  // While the token lives, changes are read only for a search, because an import of many sessions
  // needs the cores. The token must not outlive this object.
  std::shared_ptr<void> hold();

  // Finds everything that was acknowledged before the call.
  Task<Result<SearchResult>> search(Ask ask);
  // Returns `limit` messages of a session from number `offset` on, each cut at `bytes_max`.
  Task<Result<Messages>> list_messages(session::SessionId id, std::uint64_t offset,
                                       std::size_t limit, std::size_t bytes_max);

  // Called when long work on the index begins; releasing the token ends it. Set it before load().
  using OnWork = std::function<std::shared_ptr<void>(std::string what)>;
  void set_on_work(OnWork on_work) { on_work_ = std::move(on_work); }

  std::uint64_t documents() const { return index_ ? index_->documents() : 0; }

 private:
  void drop_group(const session::SessionId& id);
  bool may_read() const { return holds_ == 0 || searches_waiting_ > 0; }
  void start_readers();
  // Reads the sessions that are behind until none is. Several readers may run at once, but never
  // two on one session.
  Task<void> read_behind();
  Task<void> wait_for_more();
  // Every reader holds the token while there is much to read.
  std::shared_ptr<void> reading_token();
  Task<void> read_new();
  Task<void> write_bulk(search::Job job, std::vector<search::Index::BulkGroup> groups);
  std::vector<session::Range> take_new();
  Task<Status> catch_up(session::SessionId id);
  void add(std::uint32_t group, const Read& read);
  void hide(std::uint32_t group, std::int64_t words);
  std::uint32_t& next_ordinal(std::uint32_t group);
  void plan_tidy();
  // Writes and merges files of the index as long as there is work.
  Task<void> tidy();
  Task<Status> run(search::Job job);
  Task<void> open();
  Task<void> compare();
  // Keeps the memory of mapped index files small.
  void bound_memory();
  // Waits for everything that was acknowledged before the call.
  Task<Status> wait_until_caught_up();

  session::Sessions& sessions_;
  session::Transcripts& transcripts_;
  Pool& pool_;
  Files& files_;
  std::string directory_;
  std::optional<Result<search::Index::Opened>> opened_;  // until compare() takes it
  bool opening_ = false;
  std::unique_ptr<search::Index> index_;
  std::set<session::SessionId> behind_;                             // grew since they were read
  std::set<session::SessionId> busy_;                               // being read
  std::unordered_map<std::uint32_t, std::uint32_t> next_ordinals_;  // by group, where known
  std::size_t readers_ = 0;
  std::size_t holds_ = 0;
  std::size_t searches_waiting_ = 0;
  std::size_t searches_done_ = 0;
  std::size_t unwritten_bytes_ = 0;  // in bulks that are searchable but not on disk
  bool loaded_ = false;              // true also when loading failed
  bool tidying_ = false;
  bool no_bulks_ = false;  // the last bulk could not be written
  bool stopping_ = false;
  OnWork on_work_;
  std::weak_ptr<void> reading_;  // set while many sessions are read
  Notify progress_;
  Notify hurry_;
  Notify tidy_wanted_;
  Notify manifest_written_;
  Helper helper_;
  TaskGroup tasks_;
};

}  // namespace reef::recall
