// Transcripts in memory, with the contract of the files. Loop thread only.
#pragma once

#include <map>

#include "session/transcripts.h"

namespace reef::store {

class MemTranscripts final : public session::Transcripts {
 public:
  Task<Result<std::vector<session::Stored>>> list() override;
  Task<Status> create(session::SessionId id, std::string bytes) override;
  Task<std::vector<Status>> take_in(std::vector<session::Incoming> sessions) override;
  Task<Result<std::string>> read(session::SessionId id, std::uint64_t from,
                                 std::uint64_t size) override;
  Task<std::vector<Result<std::string>>> read_ranges(std::vector<session::Range> ranges) override;
  Task<void> read_each(std::vector<session::Range> ranges, UsePiece use,
                       std::function<void()> meanwhile, Helper* helper) override;
  Task<Result<session::Tail>> open(session::SessionId id) override;
  Task<Status> append(session::SessionId id, std::uint64_t at, std::string bytes) override;
  Task<std::vector<Result<session::Row>>> refresh(std::vector<session::Refresh> requests) override;
  Task<Status> rewrite(session::SessionId id, std::uint64_t at, std::string bytes,
                       std::string kept_as) override;
  std::string path_of(const session::SessionId& id) const override;
  Task<Status> trash(session::SessionId id, TimePoint now) override;
  Task<Status> restore(session::SessionId id) override;
  Task<Result<std::vector<session::Trashed>>> trashed() override;
  Task<Status> purge(session::SessionId id) override;
  Task<std::vector<std::uint64_t>> measure(std::vector<session::SessionId> ids,
                                           Place place) override;
  Task<Result<std::string>> read_trashed(session::SessionId id, std::uint64_t from,
                                         std::uint64_t size) override;
  Result<std::unique_ptr<Watch>> watch(Executor loop, Hear hear) override;

  // Changes a transcript as another program would, or brings one; nullopt: takes it away.
  void change_from_outside(const session::SessionId& id, std::optional<std::string> bytes);

  // The bytes themselves, to change them as a disk would: nobody is told.
  std::map<session::SessionId, std::string>& raw() { return transcripts_; }

 private:
  std::map<session::SessionId, std::string> transcripts_;
  std::map<session::SessionId, std::string> trash_;
  std::map<session::SessionId, TimePoint> trashed_at_;
  struct Watcher;
  std::weak_ptr<Watcher> watcher_;
  // Of what it is now.
  void tell(const session::SessionId& id);
};

}  // namespace reef::store
