#include "store/mem/mem_store.h"

#include <fmt/format.h>

#include "session/reader.h"

namespace reef::store {

Task<Result<std::vector<session::SessionId>>> MemStore::list() {
  std::vector<session::SessionId> ids;
  for (const auto& [id, bytes] : transcripts_) ids.push_back(id);
  co_return ids;
}

Task<Status> MemStore::create(session::SessionId id, std::string bytes) {
  if (!transcripts_.try_emplace(id, std::move(bytes)).second)
    co_return Error(Errc::conflict, fmt::format("session {} exists", id.text()));
  co_return Ok{};
}

Task<Result<std::string>> MemStore::read(session::SessionId id) {
  const auto found = transcripts_.find(id);
  if (found == transcripts_.end())
    co_return Error(Errc::not_found, fmt::format("no session {}", id.text()));
  co_return found->second;
}

Task<Result<std::string>> MemStore::open(session::SessionId id) {
  const auto found = transcripts_.find(id);
  if (found == transcripts_.end())
    co_return Error(Errc::not_found, fmt::format("no session {}", id.text()));
  auto& bytes = found->second;
  if (!bytes.empty() && bytes.back() != '\n') {
    const auto last = bytes.find_last_of('\n');
    const auto start = last == std::string::npos ? 0 : last + 1;
    if (session::read_transcript(std::string_view(bytes).substr(start)).tail_is_entry) {
      bytes.push_back('\n');
    } else {
      bytes.resize(start);
    }
  }
  co_return bytes;
}

Task<Status> MemStore::append(session::SessionId id, std::uint64_t at, std::string bytes) {
  const auto found = transcripts_.find(id);
  if (found == transcripts_.end())
    co_return Error(Errc::not_found, fmt::format("no session {}", id.text()));
  if (found->second.size() != at)
    co_return Error(Errc::conflict, fmt::format("session {} is {} bytes long, expected {}",
                                                id.text(), found->second.size(), at));
  found->second += bytes;
  co_return Ok{};
}

}  // namespace reef::store
