#include "store/mem/mem_transcripts.h"

#include <boost/asio/post.hpp>
#include <fmt/format.h>

#include "base/files.h"
#include "session/reader.h"

namespace reef::store {
namespace {

Error missing(const session::SessionId& id) {
  return Error(Errc::not_found, fmt::format("no session {}", id.text()));
}

// Ends the bytes with a whole line.
void mend_end(std::string& bytes) {
  if (bytes.empty() || bytes.back() == '\n') return;
  const auto last = bytes.find_last_of('\n');
  const auto start = last == std::string::npos ? 0 : last + 1;
  if (session::read_transcript(std::string_view(bytes).substr(start)).tail_is_entry) {
    bytes.push_back('\n');
  } else {
    bytes.resize(start);
  }
}

// Moves a session from one place to the other.
Status move_between(std::map<session::SessionId, std::string>& from,
                    std::map<session::SessionId, std::string>& to, const session::SessionId& id) {
  const auto found = from.find(id);
  if (found == from.end()) return missing(id);
  if (to.contains(id))
    return Error(Errc::conflict, fmt::format("session {} is there already", id.text()));
  to.insert(from.extract(found));
  return Ok{};
}

}  // namespace

Task<Result<std::vector<session::Stored>>> MemTranscripts::list() {
  std::vector<session::Stored> out;
  for (const auto& [id, bytes] : transcripts_) out.push_back(session::Stored{id, bytes.size()});
  co_return out;
}

Task<Status> MemTranscripts::create(session::SessionId id, std::string bytes) {
  if (!transcripts_.try_emplace(id, std::move(bytes)).second)
    co_return Error(Errc::conflict, fmt::format("session {} exists", id.text()));
  co_return Ok{};
}

Task<std::vector<Status>> MemTranscripts::take_in(std::vector<session::Incoming> sessions) {
  PosixFiles files;
  std::vector<Status> out;
  for (auto& [id, folder] : sessions) {
    auto bytes = read_all(files, folder + "/session.jsonl");
    if (!bytes) {
      out.push_back(std::move(bytes).error());
    } else {
      out.push_back(co_await create(std::move(id), *std::move(bytes)));
    }
  }
  co_return out;
}

Task<Result<std::string>> MemTranscripts::read(session::SessionId id, std::uint64_t from,
                                               std::uint64_t size) {
  const auto found = transcripts_.find(id);
  if (found == transcripts_.end()) co_return missing(id);
  co_return from >= found->second.size() ? std::string() : found->second.substr(from, size);
}

Task<std::vector<Result<std::string>>> MemTranscripts::read_ranges(
    std::vector<session::Range> ranges) {
  std::vector<Result<std::string>> out;
  for (auto& range : ranges)
    out.push_back(co_await read(std::move(range.id), range.from, range.size));
  co_return out;
}

Task<void> MemTranscripts::read_each(std::vector<session::Range> ranges, UsePiece use,
                                     std::function<void()> meanwhile, Helper* /*helper*/) {
  meanwhile();
  const auto pieces = co_await read_ranges(std::move(ranges));
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i])
      use(i, std::string_view(*pieces[i]));
    else
      use(i, pieces[i].error());
  }
}

Task<Result<session::Tail>> MemTranscripts::open(session::SessionId id) {
  const auto found = transcripts_.find(id);
  if (found == transcripts_.end()) co_return missing(id);
  mend_end(found->second);
  co_return session::read_tail(session::source_of(found->second));
}

Task<Status> MemTranscripts::append(session::SessionId id, std::uint64_t at, std::string bytes) {
  const auto found = transcripts_.find(id);
  if (found == transcripts_.end()) co_return missing(id);
  if (found->second.size() != at)
    co_return Error(Errc::conflict, fmt::format("session {} is {} bytes long, expected {}",
                                                id.text(), found->second.size(), at));
  found->second += bytes;
  co_return Ok{};
}

Task<std::vector<Result<session::Row>>> MemTranscripts::refresh(
    std::vector<session::Refresh> requests) {
  std::vector<Result<session::Row>> rows;
  for (auto& request : requests) {
    const auto found = transcripts_.find(request.id);
    if (found == transcripts_.end()) {
      rows.push_back(missing(request.id));
      continue;
    }
    const bool mend = request.end == session::Refresh::End::mend;
    if (mend) mend_end(found->second);
    const auto whole = found->second.find_last_of('\n') + 1;
    if (whole == 0 && !mend) {
      rows.push_back(Error(Errc::busy, "there is no whole line yet"));
      continue;
    }
    const auto lines = std::string_view(found->second).substr(0, whole);
    rows.push_back(session::refresh_row(session::source_of(lines), std::move(request)));
  }
  co_return rows;
}

Task<Status> MemTranscripts::rewrite(session::SessionId id, std::uint64_t at, std::string bytes,
                                     std::string) {
  const auto found = transcripts_.find(id);
  if (found == transcripts_.end()) co_return missing(id);
  if (found->second.size() != at) co_return Error(Errc::conflict, "it was changed meanwhile");
  found->second = std::move(bytes);
  co_return Ok{};
}

std::string MemTranscripts::path_of(const session::SessionId& id) const {
  return id.text();
}

Task<Status> MemTranscripts::trash(session::SessionId id, TimePoint now) {
  REEF_CO_CHECK(move_between(transcripts_, trash_, id));
  trashed_at_[id] = now;
  co_return Ok{};
}

Task<Status> MemTranscripts::restore(session::SessionId id) {
  co_return move_between(trash_, transcripts_, id);
}

Task<Result<std::vector<session::Trashed>>> MemTranscripts::trashed() {
  std::vector<session::Trashed> out;
  for (const auto& [id, bytes] : trash_) out.push_back(session::Trashed{id, trashed_at_[id]});
  co_return out;
}

Task<Status> MemTranscripts::purge(session::SessionId id) {
  if (trash_.erase(id) == 0)
    co_return Error(Errc::not_found, fmt::format("no session '{}' in the trash", id.text()));
  co_return Ok{};
}

Task<std::vector<std::uint64_t>> MemTranscripts::measure(std::vector<session::SessionId> ids,
                                                         Place place) {
  const auto& from = place == Place::trash ? trash_ : transcripts_;
  std::vector<std::uint64_t> out;
  for (const auto& id : ids) {
    const auto found = from.find(id);
    out.push_back(found == from.end() ? 0 : found->second.size());
  }
  co_return out;
}

Task<Result<std::string>> MemTranscripts::read_trashed(session::SessionId id, std::uint64_t from,
                                                       std::uint64_t size) {
  const auto found = trash_.find(id);
  if (found == trash_.end()) co_return missing(id);
  co_return from >= found->second.size() ? std::string() : found->second.substr(from, size);
}

struct MemTranscripts::Watcher final : session::Transcripts::Watch {
  Watcher(Executor where, Hear whom) : loop(std::move(where)), hear(std::move(whom)) {}
  Executor loop;
  Hear hear;
};

namespace {

// Ends with whoever has it, and tells nothing from then on.
class MemTranscriptWatch final : public session::Transcripts::Watch {
 public:
  explicit MemTranscriptWatch(std::shared_ptr<session::Transcripts::Watch> watcher)
      : watcher_(std::move(watcher)) {}

 private:
  std::shared_ptr<session::Transcripts::Watch> watcher_;
};

}  // namespace

void MemTranscripts::tell(const session::SessionId& id) {
  const auto watcher = watcher_.lock();
  if (!watcher) return;
  const auto found = transcripts_.find(id);
  const session::Heard heard{id, found == transcripts_.end() ? 0 : found->second.size()};
  boost::asio::post(watcher->loop, [watching = watcher_, heard] {
    if (const auto still = watching.lock()) still->hear(heard);
  });
}

Result<std::unique_ptr<session::Transcripts::Watch>> MemTranscripts::watch(Executor loop,
                                                                           Hear hear) {
  auto watcher = std::make_shared<Watcher>(std::move(loop), std::move(hear));
  watcher_ = watcher;
  for (const auto& [id, bytes] : transcripts_) tell(id);
  return std::unique_ptr<Watch>(std::make_unique<MemTranscriptWatch>(std::move(watcher)));
}

void MemTranscripts::change_from_outside(const session::SessionId& id,
                                         std::optional<std::string> bytes) {
  if (bytes) {
    transcripts_[id] = *std::move(bytes);
  } else {
    transcripts_.erase(id);
  }
  tell(id);
}

}  // namespace reef::store
