// Transcripts in memory behind the interface, for tests that change one method of it.
#pragma once

#include "store/mem/mem_transcripts.h"

namespace reef::test {

class WrappedTranscripts : public session::Transcripts {
 public:
  Task<Result<std::vector<session::Stored>>> list() override { return real.list(); }
  Task<Status> create(session::SessionId id, std::string bytes) override {
    return real.create(std::move(id), std::move(bytes));
  }
  Task<std::vector<Status>> take_in(std::vector<session::Incoming> sessions) override {
    return real.take_in(std::move(sessions));
  }
  Task<Result<std::string>> read(session::SessionId id, std::uint64_t from,
                                 std::uint64_t size) override {
    return real.read(std::move(id), from, size);
  }
  Task<std::vector<Result<std::string>>> read_ranges(std::vector<session::Range> ranges) override {
    return real.read_ranges(std::move(ranges));
  }
  Task<void> read_each(std::vector<session::Range> ranges, UsePiece use,
                       std::function<void()> meanwhile, Helper* helper) override {
    return real.read_each(std::move(ranges), std::move(use), std::move(meanwhile), helper);
  }
  Task<Result<session::Tail>> open(session::SessionId id) override {
    return real.open(std::move(id));
  }
  Task<Status> append(session::SessionId id, std::uint64_t at, std::string bytes) override {
    return real.append(std::move(id), at, std::move(bytes));
  }
  Task<std::vector<Result<session::Row>>> refresh(std::vector<session::Refresh> requests) override {
    return real.refresh(std::move(requests));
  }
  Task<Status> rewrite(session::SessionId id, std::uint64_t at, std::string bytes,
                       std::string kept_as) override {
    return real.rewrite(std::move(id), at, std::move(bytes), std::move(kept_as));
  }
  std::string path_of(const session::SessionId& id) const override { return real.path_of(id); }
  Task<Status> trash(session::SessionId id, TimePoint now) override {
    return real.trash(std::move(id), now);
  }
  Task<Status> restore(session::SessionId id) override { return real.restore(std::move(id)); }
  Task<Result<std::vector<session::Trashed>>> trashed() override { return real.trashed(); }
  Task<Status> purge(session::SessionId id) override { return real.purge(std::move(id)); }
  Task<std::vector<std::uint64_t>> measure(std::vector<session::SessionId> ids,
                                           Place place) override {
    return real.measure(std::move(ids), place);
  }
  Task<Result<std::string>> read_trashed(session::SessionId id, std::uint64_t from,
                                         std::uint64_t size) override {
    return real.read_trashed(std::move(id), from, size);
  }
  Result<std::unique_ptr<Watch>> watch(Executor loop, Hear hear) override {
    return real.watch(std::move(loop), std::move(hear));
  }

  store::MemTranscripts real;
};

}  // namespace reef::test
