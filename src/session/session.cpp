#include "session/session.h"

#include <algorithm>

#include "base/assert.h"
#include "base/log.h"
#include "base/shield.h"
#include "session/check.h"

namespace reef::session {
namespace {

// How long an append waits while another program keeps writing.
constexpr std::chrono::seconds kMovedMax{5};
constexpr std::chrono::milliseconds kMovedPause{10};

}  // namespace

Session::Session(Executor loop, Transcripts& transcripts, Clock& clock, Random& random,
                 SessionId id, Tail tail, OnAppend on_append)
    : transcripts_(transcripts),
      clock_(clock),
      random_(random),
      id_(std::move(id)),
      on_append_(std::move(on_append)),
      changed_(std::move(loop)) {
  adopt(std::move(tail));
}

void Session::adopt(Tail tail) {
  if (tail.damage > 0)
    log::warn("session {}: {} damaged place(s); reef fsck tells more", id_.text(), tail.damage);
  bytes_ = tail.bytes;
  leaf_ = std::move(tail.leaf);
  context_ = std::move(tail.context);
  version_ = tail.version;
  doubtful_ = false;
}

std::vector<Entry> Session::place(const std::vector<std::shared_ptr<Pending>>& batch) {
  std::vector<Entry> entries;
  auto leaf = leaf_;
  for (const auto& pending : batch) {
    if (pending->foreign) {
      const bool kept = place_foreign(*pending->foreign, leaf, entries);
      pending->placed = Placed{leaf.value_or(EntryId{}), kept};
      continue;
    }
    if (pending->parent) leaf = pending->parent;
    for (const auto& draft : pending->drafts) {
      auto id = fresh_entry_id(random_);
      entries.push_back(make_entry(draft, id, leaf, clock_.now()));
      pending->placed.leaf = id;
      leaf = std::move(id);
    }
  }
  return entries;
}

bool Session::place_foreign(const Foreign& foreign, std::optional<EntryId>& leaf,
                            std::vector<Entry>& entries) {
  const auto before = leaf;
  const bool back = before && (foreign.keep_leaf || before != foreign.leaf);
  const auto follow = [&](Draft draft) {
    auto id = fresh_entry_id(random_);
    entries.push_back(make_entry(std::move(draft), id, leaf, clock_.now()));
    leaf = std::move(id);
  };
  for (const auto& entry : foreign.entries) {
    entries.push_back(entry);
    leaf = entry.id;
  }
  if (back && !foreign.entries.empty()) {
    const auto from = std::exchange(leaf, before);
    follow(draft_rewind(*before, from));
  }
  if (foreign.then) follow(*foreign.then);
  return back;
}

Task<Status> Session::reload() {
  REEF_CO_TRY(auto tail, co_await transcripts_.open(id_));
  adopt(std::move(tail));
  co_return Ok{};
}

// A file that somebody emptied must get a header again, or older pi would empty it once more.
std::string Session::lost_header_line() const {
  Header header;
  header.id = id_.text();
  header.time = clock_.now();
  return header_line(header);
}

Task<Status> Session::upgrade() {
  REEF_CO_TRY(const auto bytes, co_await transcripts_.read(id_));
  auto upgraded = repaired(bytes, id_);
  REEF_CO_CHECK(co_await transcripts_.rewrite(id_, bytes.size(), std::move(upgraded), "v1"));
  log::info("session {}: upgraded from version 1; the old file is kept", id_.text());
  co_return co_await reload();
}

Task<Status> Session::write(const std::vector<std::shared_ptr<Pending>>& batch,
                            std::vector<Entry>& entries) {
  const auto loop = co_await boost::asio::this_coro::executor;
  const auto deadline = steady_now(loop) + kMovedMax;
  Status done = Ok{};
  if (doubtful_) done = co_await reload();
  for (;;) {
    // Another program has appended, or is just doing so: take its entries in and continue from its
    // leaf.
    const bool moved =
        !done && (done.error().code == Errc::conflict || done.error().code == Errc::busy);
    if (moved && steady_now(loop) < deadline) {
      log::debug("session {}: changed by another program, reading it again", id_.text());
      if (done.error().code == Errc::busy) co_await sleep_for(kMovedPause);
      done = co_await reload();
      continue;
    }
    if (!done) co_return done;
    if (version_ < 2) {
      done = co_await upgrade();
      continue;
    }
    entries = place(batch);
    std::string lines;
    if (bytes_ == 0) lines = lost_header_line();
    for (const auto& entry : entries) lines += entry_line(entry);
    const auto added = lines.size();
    done = co_await transcripts_.append(id_, bytes_, std::move(lines));
    if (!done) continue;
    bytes_ += added;
    leaf_ = entries.back().id;
    if (on_append_) on_append_(*this, entries, added);
    co_return done;
  }
}

Task<void> Session::flush() {
  REEF_ASSERT(!flushing_);
  flushing_ = true;
  const std::vector<std::shared_ptr<Pending>> batch(queue_.begin(), queue_.end());
  queue_.clear();
  std::vector<Entry> entries;
  Status done = Ok{};
  try {
    done = co_await write(batch, entries);
  } catch (const std::exception& error) {
    // Usually memory is exhausted. The callers must hear of it, and the next append must work.
    done = Error(Errc::internal, error.what());
  }
  if (done) {
    // Only drafts at the leaf extend the context there is.
    bool rebuild = std::any_of(batch.begin(), batch.end(), [](const auto& pending) {
      return pending->parent || pending->foreign;
    });
    for (const auto& entry : entries) rebuild = rebuild || !extend_context(context_, entry);
    for (const auto& pending : batch) pending->outcome = pending->placed.leaf;
    // The new entries changed earlier ones. A failed read is repeated by the next append.
    if (rebuild && !co_await reload()) doubtful_ = true;
  } else {
    doubtful_ = true;
    for (const auto& pending : batch) pending->outcome = done.error();
  }
  flushing_ = false;
  changed_.notify_all();
}

Task<Result<EntryId>> Session::append(std::vector<Draft> drafts, std::optional<EntryId> parent) {
  if (drafts.empty()) co_return Error(Errc::invalid, "there is nothing to append");
  auto mine = std::make_shared<Pending>(Pending{std::move(drafts), std::move(parent), {}});
  co_return co_await shielded(wait_for(std::move(mine)));
}

Task<Result<EntryId>> Session::append(Draft draft, std::optional<EntryId> parent) {
  std::vector<Draft> drafts;
  drafts.push_back(std::move(draft));
  return append(std::move(drafts), std::move(parent));
}

Task<Result<Session::Placed>> Session::append_foreign(Foreign foreign) {
  if (foreign.entries.empty() && !foreign.then)
    co_return Error(Errc::invalid, "there is nothing to append");
  auto mine = std::make_shared<Pending>(Pending{{}, {}, std::move(foreign)});
  REEF_CO_TRY(const auto leaf, co_await shielded(wait_for(mine)));
  co_return Placed{leaf, mine->placed.kept};
}

Task<Result<EntryId>> Session::wait_for(std::shared_ptr<Pending> mine) {
  queue_.push_back(mine);
  // A caller that finds no sync in progress does the next one for all that wait.
  while (!mine->outcome) {
    if (flushing_) {
      co_await changed_.wait();
    } else {
      co_await flush();
    }
  }
  co_return *std::move(mine->outcome);
}

}  // namespace reef::session
