#include "session/session.h"

#include "base/assert.h"
#include "base/log.h"
#include "base/shield.h"

namespace reef::session {
namespace {

constexpr std::size_t kEntryIdDigits = 8;
constexpr int kMovedRetriesMax = 8;

void log_damage(const SessionId& id, const Transcript& transcript) {
  const auto& damage = transcript.damage();
  if (damage.empty()) return;
  log::warn("session {}: {} damaged place(s); first: line {}, {}: {}", id.text(), damage.size(),
            damage.front().line, name_of(damage.front().kind), damage.front().what);
}

}  // namespace

Session::Session(Executor loop, Store& store, Clock& clock, Random& random, SessionId id,
                 std::string bytes)
    : store_(store),
      clock_(clock),
      random_(random),
      id_(std::move(id)),
      transcript_(read_transcript(bytes)),
      bytes_(bytes.size()),
      changed_(std::move(loop)) {
  log_damage(id_, transcript_);
}

EntryId Session::fresh_id() {
  for (;;) {
    EntryId id{random_.hex(kEntryIdDigits)};
    if (!transcript_.find(id)) return id;
  }
}

std::vector<Entry> Session::place(const std::vector<std::shared_ptr<Pending>>& batch) {
  std::vector<Entry> entries;
  std::optional<EntryId> parent;
  if (const auto* leaf = transcript_.leaf()) parent = leaf->id;
  for (const auto& pending : batch) {
    EntryId id = fresh_id();
    while (std::any_of(entries.begin(), entries.end(),
                       [&](const Entry& other) { return other.id == id; }))
      id = fresh_id();
    entries.push_back(make_entry(pending->draft, id, parent, clock_.now()));
    parent = std::move(id);
  }
  return entries;
}

Task<Status> Session::reload() {
  REEF_CO_TRY(auto bytes, co_await store_.open(id_));
  transcript_ = Transcript(read_transcript(bytes));
  bytes_ = bytes.size();
  doubtful_ = false;
  co_return Ok{};
}

Task<void> Session::flush() {
  REEF_ASSERT(!flushing_);
  flushing_ = true;
  const std::vector<std::shared_ptr<Pending>> batch(queue_.begin(), queue_.end());
  queue_.clear();

  Status done = Ok{};
  if (doubtful_) done = co_await reload();
  std::vector<Entry> entries;
  for (int tries = 0; done.ok(); ++tries) {
    entries = place(batch);
    std::string lines;
    for (const auto& entry : entries) lines += entry_line(entry);
    const auto added = lines.size();
    done = co_await store_.append(id_, bytes_, std::move(lines));
    if (done) {
      bytes_ += added;
      break;
    }
    if (done.error().code != Errc::conflict || tries == kMovedRetriesMax) break;
    // Another program has appended: take its entries in and continue from its leaf.
    log::info("session {}: changed by another program, reading it again", id_.text());
    done = co_await reload();
  }

  if (done) {
    for (std::size_t i = 0; i < batch.size(); ++i) {
      batch[i]->outcome = entries[i].id;
      transcript_.add(std::move(entries[i]));
    }
  } else {
    doubtful_ = true;
    for (const auto& pending : batch) pending->outcome = done.error();
  }
  flushing_ = false;
  changed_.notify_all();
}

Task<Result<EntryId>> Session::append(Draft draft) {
  auto mine = std::make_shared<Pending>(Pending{std::move(draft), std::nullopt});
  queue_.push_back(mine);
  co_return co_await shielded(wait_for(std::move(mine)));
}

Task<Result<EntryId>> Session::wait_for(std::shared_ptr<Pending> mine) {
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
