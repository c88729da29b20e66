// Table of contents of recall/: search over everything that was ever said.
//
//   document.h   said_in, Place        what an entry says that can be searched
//   question.h   parse_question        what was asked
//   ranking.h    rank                  which entries answer it best
//   items.h      read_each_item        what is shown of them
//   recall.h     Recall                this file: the index of all sessions, kept up to date
//
// The index is derived: deleting index/ loses nothing. Loop thread; reading and parsing of
// transcripts and the work on index files run on the pool.
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
inline constexpr std::size_t kWindowMax = 16;  // items, the hit among them
inline constexpr std::size_t kSnippetBytesMax = 1024;

struct Answer;

using RowTest = std::function<bool(const session::Row&)>;

// Item `at` of a hit. Windows of hits that stand near each other have items in common.
struct ItemPlace {
  std::size_t hit = 0;
  std::size_t at = 0;
};

struct Ask {
  std::string query;
  std::size_t limit = 10;  // at most kHitsMax
  std::size_t offset = 0;  // of the first hit
  std::size_t before = 4, after = 4;
  bool by_session = false;
  bool last_word_is_prefix = false;
  std::optional<session::SessionId> exclude;
  // Which sessions may be found; empty: all. Asked for every session, so it must be quick.
  RowTest allowed;
  // Turns the question's terms about sessions into a test; an error means they are words.
  std::function<Result<RowTest>(const std::string&)> filter;
  // Called with the answer while its items are still being read: time for what else it takes.
  std::function<void(const Answer&)> while_reading;
  // Where it is set, items are not kept in the answer but handed over here as they are read, each
  // once, with all places where it is shown. On any thread, several at once; but those of one
  // stretch one after the other, and there are not more stretches than items.
  std::function<void(std::size_t stretch, std::span<const ItemPlace> places, Item& item)> use_item;
};

struct Found {
  session::SessionId session;
  double score = 0;
  std::size_t hit = 0;    // which of the items it is
  std::size_t count = 0;  // of items
  std::string entry{};    // of the hit
  std::vector<Item> items{};
};

struct Answer {
  std::vector<Found> hits;
  bool more = false;  // behind these
};

struct Messages {
  std::vector<Item> items;
  std::uint64_t total = 0;
};

class Recall {
 public:
  Recall(Executor loop, session::Sessions& sessions, session::Store& store, Pool& pool,
         Files& files, std::string directory);

  // Opens the files of the index in the background; sessions need not be there yet.
  void begin_load();
  // When sessions are there: what the index does not cover is read in the background. A damaged one
  // is made again. Searches wait for it; nothing else needs to.
  Task<Status> load();
  // Writes down what is only in memory.
  Task<void> stop();

  // The session grew, was written anew, came or went. Costs nothing worth waiting for.
  void changed(const session::SessionId& id, bool rewritten);
  // As long as the token lives, what changes is read only when somebody searches: whoever brings
  // in many sessions needs the cores. It must not outlive this.
  std::shared_ptr<void> hold();

  // Everything acknowledged before the call is found.
  Task<Result<Answer>> search(Ask ask);
  // Messages `offset` and the following of a session, whole up to `bytes_max` each.
  Task<Result<Messages>> list_messages(session::SessionId id, std::uint64_t offset,
                                       std::size_t limit, std::size_t bytes_max);

  // Told when long work on the index begins; it is over when the token goes. Before load().
  using OnWork = std::function<std::shared_ptr<void>(std::string what)>;
  void set_on_work(OnWork on_work) { on_work_ = std::move(on_work); }

  std::uint64_t documents() const { return index_ ? index_->documents() : 0; }

 private:
  void drop_group(const session::SessionId& id);
  bool may_read() const { return holds_ == 0 || searches_waiting_ > 0; }
  void start_readers();
  // Reads what is behind until nothing is; a few run side by side, never two on one session.
  Task<void> read_behind();
  // Held by every reader while there is much to read.
  std::shared_ptr<void> reading_token();
  Task<void> read_new();
  Task<void> write_bulk(search::Job job, std::vector<search::Index::BulkGroup> groups);
  std::vector<session::Range> take_new();
  Task<Status> catch_up(session::SessionId id);
  void add(std::uint32_t group, const Read& read);
  void hide(std::uint32_t group, std::int64_t words);
  std::uint32_t& next_ordinal(std::uint32_t group);
  void plan_tidy();
  // Writes and merges files of the index while there is something to do.
  Task<void> tidy();
  Task<Status> run(search::Job job);
  Task<void> open();
  Task<void> compare();
  // Files of the index that were read stay in memory only as far as that is little.
  void bound_memory();
  // For what was acknowledged before the call.
  Task<Status> wait_until_caught_up();

  session::Sessions& sessions_;
  session::Store& store_;
  Pool& pool_;
  Files& files_;
  std::string directory_;
  std::optional<Result<search::Index::Opened>> opened_;  // until it is compared
  bool opening_ = false;
  std::unique_ptr<search::Index> index_;
  std::set<session::SessionId> behind_;                             // grew since they were read
  std::set<session::SessionId> busy_;                               // being read
  std::unordered_map<std::uint32_t, std::uint32_t> next_ordinals_;  // by group, where known
  std::size_t readers_ = 0;
  std::size_t holds_ = 0;
  std::size_t searches_waiting_ = 0;
  std::size_t searches_done_ = 0;
  std::size_t unwritten_bytes_ = 0;  // of bulks that are found and not on disk
  bool loaded_ = false;              // or given up
  bool tidying_ = false;
  bool no_bulks_ = false;  // the last one could not be written
  bool stopping_ = false;
  OnWork on_work_;
  std::weak_ptr<void> reading_;  // while many sessions are read
  Notify progress_;
  Notify tidy_wanted_;
  Notify manifest_written_;
  Helper helper_;
  TaskGroup tasks_;
};

}  // namespace reef::recall
