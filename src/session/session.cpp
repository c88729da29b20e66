#include "session/session.h"

#include "base/assert.h"
#include "base/log.h"
#include "base/shield.h"

namespace reef::session {
namespace {

// Long enough to be unique without knowing the ids of the part that was not read.
constexpr std::size_t kEntryIdDigits = 12;
constexpr int kMovedRetriesMax = 8;

}  // namespace

Session::Session(Executor loop, Store& store, Clock& clock, Random& random, SessionId id, Tail tail,
                 OnAppend on_append)
    : store_(store),
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
  doubtful_ = false;
}

std::vector<Entry> Session::place(const std::vector<std::shared_ptr<Pending>>& batch) {
  std::vector<Entry> entries;
  auto leaf = leaf_;
  for (const auto& pending : batch) {
    EntryId id{random_.hex(kEntryIdDigits)};
    entries.push_back(
        make_entry(pending->draft, id, pending->parent ? pending->parent : leaf, clock_.now()));
    leaf = std::move(id);
  }
  return entries;
}

Task<Status> Session::reload() {
  REEF_CO_TRY(auto tail, co_await store_.open(id_));
  adopt(std::move(tail));
  co_return Ok{};
}

Task<Status> Session::write(const std::vector<std::shared_ptr<Pending>>& batch,
                            std::vector<Entry>& entries) {
  if (doubtful_) REEF_CO_CHECK(co_await reload());
  for (int tries = 0;; ++tries) {
    entries = place(batch);
    std::string lines;
    for (const auto& entry : entries) lines += entry_line(entry);
    const auto added = lines.size();
    auto done = co_await store_.append(id_, bytes_, std::move(lines));
    if (done) {
      bytes_ += added;
      leaf_ = entries.back().id;
      if (on_append_) on_append_(*this, entries, added);
      co_return Ok{};
    }
    if (done.error().code != Errc::conflict || tries == kMovedRetriesMax) co_return done;
    // Another program has appended: take its entries in and continue from its leaf.
    log::info("session {}: changed by another program, reading it again", id_.text());
    REEF_CO_CHECK(co_await reload());
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
    // No memory, usually. Those who wait must hear of it, and the next append must work.
    done = Error(Errc::internal, error.what());
  }
  if (done) {
    bool rebuild = false;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (batch[i]->parent || !extend_context(context_, entries[i])) rebuild = true;
      batch[i]->outcome = std::move(entries[i].id);
    }
    // What was appended changed what stands before it. A failed read is tried again by the next.
    if (rebuild && !co_await reload()) doubtful_ = true;
  } else {
    doubtful_ = true;
    for (const auto& pending : batch) pending->outcome = done.error();
  }
  flushing_ = false;
  changed_.notify_all();
}

Task<Result<EntryId>> Session::append(Draft draft, std::optional<EntryId> parent) {
  auto mine = std::make_shared<Pending>(Pending{std::move(draft), std::move(parent), {}});
  co_return co_await shielded(wait_for(std::move(mine)));
}

Task<Result<EntryId>> Session::wait_for(std::shared_ptr<Pending> mine) {
  queue_.push_back(mine);
  // Whoever finds no sync in progress does the next one for all that wait.
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
