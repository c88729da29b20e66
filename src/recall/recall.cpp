#include "recall/recall.h"

#include <algorithm>
#include <deque>
#include <tuple>

#include <fmt/format.h>
#include <malloc.h>

#include "base/log.h"
#include "base/shield.h"
#include "recall/feeding.h"
#include "recall/reading.h"

namespace reef::recall {
namespace {

// Fewer sessions are read so quickly that nobody needs to be told.
constexpr std::size_t kManyBehind = 50;
// The bytes read and parsed at once; a longer line is read whole.
constexpr std::uint64_t kPieceBytes = 1U << 20;
constexpr std::size_t kReadersMax = 2;
// How long new words wait for more, so that those of a turn are read in one go. A search does not
// wait for it.
constexpr std::chrono::milliseconds kPatience{50};
// Parsing so few bytes takes less time than handing them to another thread.
constexpr std::size_t kParsedHereMax = 8U << 10;
// The number of messages added before other tasks get the loop again.
constexpr std::size_t kAddAtOnce = 32;
// New sessions of this many bytes in total are taken in as a bulk. They are read in batches until
// the bulk uses this much memory.
constexpr std::uint64_t kManyBytes = 256U << 10;
constexpr std::uint64_t kBatchBytes = 1U << 20;
constexpr std::size_t kBulkBytes = 64U << 20;
// A bulk is searchable as soon as it is taken in. Writing it waits until nothing is left to take in
// or until this many bytes are unwritten.
constexpr std::size_t kUnwrittenBytesMax = 128U << 20;
// How long documents may stay only in memory; after a crash they are read again.
constexpr std::chrono::seconds kTidyDelay{10};
constexpr std::chrono::seconds kTidyPause{60};

search::IndexOptions index_options() {
  search::IndexOptions options;
  options.weights.assign(std::begin(kWeights), std::end(kWeights));
  return options;
}

// Any thread.
void tell_cut(const session::SessionId& id, const Piece& piece) {
  for (const auto& entry : piece.cut)
    log::warn(
        "index: session {}: message {} has too many different words; the last of them are "
        "not found",
        id.text(), entry);
}

}  // namespace

Recall::Recall(Executor loop, session::Sessions& sessions, session::Transcripts& transcripts,
               Pool& pool, Files& files, std::string directory)
    : sessions_(sessions),
      transcripts_(transcripts),
      pool_(pool),
      files_(files),
      directory_(std::move(directory)),
      progress_(loop),
      hurry_(loop),
      tidy_wanted_(loop),
      manifest_written_(loop),
      tasks_(loop, "recall") {}

// ---- keeping up ----

void Recall::begin_load() {
  if (std::exchange(opening_, true)) return;
  tasks_.spawn(open());
}

Task<void> Recall::open() {
  auto work = [this] { return search::Index::open(files_, directory_, index_options()); };
  try {
    opened_ = co_await pool_.run(work);
  } catch (const std::exception& error) {
    // Usually memory ran out. Searches must get the error instead of waiting for ever.
    opened_ = Error(Errc::internal, error.what());
  }
  progress_.notify_all();
}

Task<Status> Recall::load() {
  begin_load();
  while (!opened_ && !stopping_) co_await progress_.wait();
  auto opened = opened_ ? *std::move(opened_) : Error(Errc::cancelled, "the daemon stops");
  opened_.reset();
  if (opened) {
    for (const auto& problem : opened->problems) log::warn("index: {}; it is made again", problem);
    index_ = std::move(opened->index);
    co_await compare();
    // Resumes a merge that was interrupted.
    plan_tidy();
  }
  loaded_ = true;
  progress_.notify_all();
  if (!opened) co_return std::move(opened).error();
  co_return Ok{};
}

// Looks for sessions that came, grew or went while the daemon was down. A hundred thousand take a
// while, so other tasks run in between.
Task<void> Recall::compare() {
  constexpr std::size_t kAtOnce = 1000;
  std::vector<session::SessionId> different;
  std::size_t known = 0;
  sessions_.visit([&](const session::Row& row) {
    const auto group = index_->find_group(row.id.text());
    if (group) ++known;
    if (!group || index_->covered(*group) != row.bytes) different.push_back(row.id);
  });
  std::size_t count = 0;
  const auto groups = index_->groups();
  for (std::size_t i = 0; known < groups.size() && i < groups.size(); ++i) {
    const auto id = session::SessionId::parse(index_->group_name(groups[i]));
    if (!id || !sessions_.find(*id)) index_->remove_group(groups[i]);
    if (++count % kAtOnce == 0) co_await yield_to_loop();
  }
  for (const auto& id : different) {
    changed(id, false);
    if (++count % kAtOnce == 0) co_await yield_to_loop();
  }
}

Task<void> Recall::stop() {
  stopping_ = true;
  progress_.notify_all();
  tasks_.cancel();
  co_await tasks_.join();
  if (!index_ || !index_->dirty()) co_return;
  auto flush = [this] { return index_->flush(); };
  if (const auto done = co_await pool_.run(flush); !done)
    log::warn("index: {}; it is brought up to date at the next start", done.error().what);
}

void Recall::changed(const session::SessionId& id, bool rewritten) {
  if (!index_ || stopping_) return;
  const auto* row = sessions_.find(id);
  const auto known = index_->find_group(id.text());
  const auto covered = known ? index_->covered(*known) : 0;
  if (known && row && !rewritten && covered == row->bytes) return;
  // A transcript that shrank is another one by now.
  if (!row || rewritten || covered > row->bytes) drop_group(id);
  if (!row) return;
  behind_.insert(id);
  start_readers();
}

void Recall::start_readers() {
  if (!may_read() || stopping_) return;
  if (behind_.size() >= kManyBehind) hurry_.notify_all();
  while (readers_ < std::min(kReadersMax, behind_.size())) {
    ++readers_;
    tasks_.spawn(read_behind());
  }
}

std::shared_ptr<void> Recall::hold() {
  ++holds_;
  return {nullptr, [this](void*) {
            --holds_;
            start_readers();
          }};
}

void Recall::drop_group(const session::SessionId& id) {
  const auto group = index_->find_group(id.text());
  if (!group) return;
  index_->remove_group(*group);
  next_ordinals_.erase(*group);
}

std::shared_ptr<void> Recall::reading_token() {
  auto token = reading_.lock();
  if (!token && on_work_ && behind_.size() >= kManyBehind) {
    token = on_work_(fmt::format("reads {} sessions into the index", behind_.size()));
    reading_ = token;
  }
  return token;
}

Task<void> Recall::read_behind() {
  struct Leaving {
    std::size_t& readers;
    ~Leaving() { --readers; }
  } leaving{readers_};
  // We may have been spawned in the middle of an append, which must go first.
  co_await yield_to_loop();
  co_await wait_for_more();
  const auto token = reading_token();
  co_await read_new();
  while (may_read()) {
    const auto next = std::find_if(behind_.begin(), behind_.end(),
                                   [this](const auto& id) { return !busy_.contains(id); });
    if (next == behind_.end()) break;
    const auto id = *next;
    behind_.erase(next);
    busy_.insert(id);
    struct Done {
      Recall& recall;
      const session::SessionId& id;
      ~Done() {
        recall.busy_.erase(id);
        recall.progress_.notify_all();
      }
    } done{*this, id};
    const auto read = co_await catch_up(id);
    if (!read && sessions_.find(id))
      log::warn("index: session {}: {}", id.text(), read.error().what);
  }
  plan_tidy();
}

Task<void> Recall::wait_for_more() {
  const auto due = std::chrono::steady_clock::now() + kPatience;
  while (searches_waiting_ == 0 && behind_.size() < kManyBehind && !stopping_ &&
         std::chrono::steady_clock::now() < due)
    static_cast<void>(co_await hurry_.wait_until(due));
}

// Reads, takes in and writes sessions that are new to the index, several at once and beside the
// index, if they are many. catch_up retries those that fail.
Task<void> Recall::read_new() {
  struct Taken {
    Recall& recall;
    std::vector<session::Range> ranges;
    ~Taken() { release(); }
    void release() {
      for (const auto& range : ranges) {
        recall.busy_.erase(range.id);
        // The session has grown meanwhile.
        const auto* row = recall.sessions_.find(range.id);
        if (row && row->bytes != range.size) recall.changed(range.id, false);
      }
      ranges.clear();
      recall.progress_.notify_all();
    }
  } taken{*this, {}};
  struct Unwritten {
    Recall& recall;
    search::Job job;
    std::vector<search::Index::BulkGroup> groups;
    std::size_t bytes;
    Unwritten(Recall& of, search::Job begun, std::vector<search::Index::BulkGroup> held,
              std::size_t size)
        : recall(of), job(std::move(begun)), groups(std::move(held)), bytes(size) {
      recall.unwritten_bytes_ += bytes;
    }
    ~Unwritten() { recall.unwritten_bytes_ -= bytes; }
    Unwritten(const Unwritten&) = delete;
    Unwritten& operator=(const Unwritten&) = delete;
  };
  std::deque<Unwritten> unwritten;
  std::vector<session::SessionId> failed;
  std::unique_ptr<search::Bulk> bulk;
  std::vector<search::Index::BulkGroup> groups;
  std::vector<std::uint32_t> counts;
  for (bool last = false; !last;) {
    auto batch = take_new();
    last = batch.empty();
    if (!last) {
      if (!bulk) bulk = std::make_unique<search::Bulk>(kBulkBytes);
      std::vector<std::uint32_t> numbers;
      for (const auto& range : batch) {
        taken.ranges.push_back(range);
        numbers.push_back(index_->group(range.id.text()));
      }
      const auto bytes = co_await transcripts_.read_ranges(batch);
      auto work = [&] {
        std::vector<std::pair<std::uint64_t, std::uint32_t>> done;  // bytes, messages
        const AddDocument add = [&](const auto& row, const auto& fields) {
          bulk->add(row, fields);
        };
        for (std::size_t i = 0; i < batch.size(); ++i) {
          const auto piece = bytes[i] ? read_piece(*bytes[i], 0) : Piece();
          tell_cut(batch[i].id, piece);
          done.emplace_back(piece.bytes, feed_all(piece.documents, numbers[i], add));
        }
        return done;
      };
      const auto done = co_await pool_.run(work);
      for (std::size_t i = 0; i < batch.size(); ++i) {
        if (done[i].first == 0) {
          failed.push_back(batch[i].id);
          continue;
        }
        groups.push_back({numbers[i], done[i].first});
        counts.push_back(done[i].second);
      }
      if (bulk->memory_bytes() < kBulkBytes) continue;
    }
    for (const auto& id : failed) {
      const auto read = co_await catch_up(id);
      if (!read && sessions_.find(id))
        log::warn("index: session {}: {}", id.text(), read.error().what);
    }
    failed.clear();
    if (!groups.empty()) {
      auto freeze = [&bulk] {
        bulk->freeze();
        return true;
      };
      static_cast<void>(co_await pool_.run(freeze));
      if (stopping_) co_return;
      // The messages are searchable from here on, even while they are being written.
      const auto bytes = bulk->memory_bytes();
      auto job = index_->begin_bulk(*bulk, groups);
      bulk.reset();
      for (std::size_t i = 0; i < groups.size(); ++i)
        if (!index_->group_name(groups[i].group).empty())
          next_ordinals_[groups[i].group] = counts[i];
      unwritten.emplace_back(*this, std::move(job), std::exchange(groups, {}), bytes);
      counts.clear();
    }
    taken.release();
    while (!unwritten.empty() && (last || unwritten_bytes_ > kUnwrittenBytesMax)) {
      auto& next = unwritten.front();
      co_await write_bulk(std::move(next.job), std::move(next.groups));
      unwritten.pop_front();
    }
  }
}

Task<void> Recall::write_bulk(search::Job job, std::vector<search::Index::BulkGroup> groups) {
  std::vector<std::string> names;
  for (const auto& group : groups) names.emplace_back(index_->group_name(group.group));
  const auto written = co_await shielded(run(std::move(job)));
  if (written) co_return;
  log::warn("index: {}", written.error().what);
  // The messages go into memory one by one until the disk accepts writes again.
  no_bulks_ = true;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (!index_->group_name(groups[i].group).empty())
      continue;  // the group is in place; only the manifest is behind
    next_ordinals_.erase(groups[i].group);
    if (const auto id = session::SessionId::parse(names[i])) changed(*id, false);
  }
}

// Returns some megabytes of new sessions and marks them as busy; empty when there are only few.
std::vector<session::Range> Recall::take_new() {
  std::vector<session::Range> out;
  if (!may_read() || no_bulks_) return out;
  std::uint64_t bytes = 0;
  for (const auto& id : behind_) {
    if (busy_.contains(id)) continue;
    const auto* row = sessions_.find(id);
    const auto group = index_->find_group(id.text());
    if (!row || row->bytes > kPieceBytes || (group && index_->covered(*group) > 0)) continue;
    out.push_back(session::Range{id, 0, row->bytes});
    bytes += row->bytes;
    if (bytes >= kBatchBytes) break;
  }
  if (bytes < kManyBytes) return {};
  for (const auto& range : out) {
    behind_.erase(range.id);
    busy_.insert(range.id);
  }
  return out;
}

Task<Status> Recall::catch_up(session::SessionId id) {
  for (;;) {
    const auto* row = sessions_.find(id);
    if (!row) co_return Ok{};
    const auto known = index_->find_group(id.text());
    auto covered = known ? index_->covered(*known) : 0;
    if (row->bytes == covered && known) co_return Ok{};
    if (!may_read()) {
      behind_.insert(id);
      co_return Ok{};
    }
    if (row->bytes < covered) {
      drop_group(id);
      continue;
    }
    auto size = std::min(kPieceBytes, row->bytes - covered);
    REEF_CO_TRY(auto bytes, co_await transcripts_.read(id, covered, size));
    // The line is longer than a piece.
    while (bytes.find('\n') == std::string::npos && covered + bytes.size() < row->bytes) {
      row = sessions_.find(id);
      if (!row) co_return Ok{};
      size = std::min(size * 4, row->bytes - covered);
      REEF_CO_TRY(bytes, co_await transcripts_.read(id, covered, size));
    }
    if (covered > 0 && !bytes.empty() && bytes.front() != '{') {
      // The file is not what it was: somebody has rewritten it.
      drop_group(id);
      continue;
    }
    auto parse = [&] { return read_piece(bytes, covered); };
    const auto piece = bytes.size() <= kParsedHereMax ? parse() : co_await pool_.run(parse);
    tell_cut(id, piece);
    if (piece.bytes == 0) co_return Ok{};  // the line is unfinished; the next append completes it
    if (!sessions_.find(id)) co_return Ok{};
    const auto group = index_->group(id.text());
    if (index_->covered(group) != covered) continue;  // the group was dropped meanwhile
    for (const auto words : piece.hides) hide(group, words);
    for (std::size_t i = 0; i < piece.documents.size(); ++i) {
      add(group, piece.documents[i]);
      if (i % kAddAtOnce != kAddAtOnce - 1) continue;
      co_await yield_to_loop();
      if (index_->find_group(id.text()) != group) break;
    }
    if (index_->find_group(id.text()) != group) continue;
    index_->set_covered(group, covered + piece.bytes);
    if (index_->wants_flush()) plan_tidy();
  }
}

void Recall::add(std::uint32_t group, const Read& read) {
  auto& ordinal = next_ordinal(group);
  if (read.said.role == Role::title) {
    // A session has one title.
    for (const auto& old : index_->documents_of(group))
      if (role_in(old.row.facets) == Role::title) index_->remove(group, old.row.key);
  }
  if (read.said.parts.empty()) return;
  feed(read, group, ordinal,
       [this](const auto& row, const auto& fields) { index_->add(row, fields); });
  if (read.said.role != Role::title) ++ordinal;
}

// Hides the messages that led to a silent reply.
void Recall::hide(std::uint32_t group, std::int64_t words) {
  static_cast<void>(next_ordinal(group));  // keeps hidden numbers from being reused
  const auto all = index_->documents_of(group);
  for (auto i = all.size(); i > 0 && words > 0; --i)
    if (is_hidden_by_reply(role_in(all[i - 1].row.facets), words))
      index_->remove(group, all[i - 1].row.key);
}

std::uint32_t& Recall::next_ordinal(std::uint32_t group) {
  const auto [found, is_new] = next_ordinals_.try_emplace(group, 0);
  if (is_new)
    for (const auto& document : index_->documents_of(group))
      if (role_in(document.row.facets) != Role::title)
        found->second = std::max(found->second, Place::of(document.row.key).ordinal + 1);
  return found->second;
}

// ---- files of the index ----

void Recall::plan_tidy() {
  if (tidying_) {
    tidy_wanted_.notify_all();
  } else if (!stopping_) {
    tidying_ = true;
    tasks_.spawn(tidy());
  }
}

Task<void> Recall::tidy() {
  struct Leaving {
    bool& tidying;
    ~Leaving() { tidying = false; }
  } leaving{tidying_};
  co_await yield_to_loop();
  bool worked = false;
  for (;;) {
    // plan_tidy wakes this on every append; only a full memory or the stop ends the wait early.
    const auto due = std::chrono::steady_clock::now() + kTidyDelay;
    while (index_->dirty() && !index_->wants_flush() && !stopping_ &&
           std::chrono::steady_clock::now() < due)
      static_cast<void>(co_await tidy_wanted_.wait_until(due));
    // A job once begun must be finished, so none begins now; stop() writes what is left.
    if (stopping_) break;
    auto job = index_->dirty() ? index_->begin_flush() : std::nullopt;
    // When nothing else is to be done, the merge is thorough.
    const bool merges = !job;
    if (!job) job = index_->begin_merge(behind_.empty() && busy_.empty());
    if (!job) break;
    worked = true;
    const auto token = merges && on_work_ ? on_work_("merges files of the index") : nullptr;
    const auto done = co_await shielded(run(*std::move(job)));
    if (!done) {
      log::warn("index: {}; tried again later", done.error().what);
      co_await sleep_for(kTidyPause);
    } else {
      no_bulks_ = false;
    }
  }
  // A merge or a bulk used memory that is not needed soon.
  if (worked && !stopping_) static_cast<void>(co_await pool_.run([] { return ::malloc_trim(0); }));
}

Task<Status> Recall::run(search::Job job) {
  std::optional<Error> failed;
  for (bool over = false; !over && !failed;) {
    auto step = [&job] { return job.step(); };
    const auto done = co_await pool_.run(step);
    if (done)
      over = *done;
    else
      failed = done.error();
  }
  const auto placed = index_->put_in_place(std::move(job));
  if (failed) co_return *std::move(failed);
  if (!placed) co_return placed;
  // Another task may be writing the manifest, and what it writes may include our change.
  for (;;) {
    if (auto manifest = index_->begin_manifest()) {
      auto write = [&manifest] { return manifest->write(); };
      auto written = co_await pool_.run(write);
      index_->end_manifest(*std::move(manifest), written.ok());
      manifest_written_.notify_all();
      co_return written;
    }
    if (!index_->manifest_under_way()) co_return Ok{};
    co_await manifest_written_.wait();
  }
}

}  // namespace reef::recall
