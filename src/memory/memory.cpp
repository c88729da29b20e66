#include "memory/memory.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/shield.h"
#include "base/utf8.h"

namespace reef::memory {
namespace {

constexpr std::size_t kOpenMax = 64;
constexpr std::size_t kFileNameBytesMax = 250;  // leaves room for .tmp
constexpr std::string_view kSuffix = ".crmem";
// CrabTalk has no limit, but a huge sparse file must not use up the machine's memory.
constexpr std::uint64_t kFileBytesMax = 512U << 20;

// Other programs may write the file at the same moment; nobody does so all the time.
constexpr int kAttemptsMax = 5;

Result<std::string> document_of(std::string_view agent) {
  REEF_TRY(const auto name, file_name_of(agent));
  return "memory/" + name;
}

}  // namespace

// One visit to the disk, made on the pool with values in and values out.
struct Memory::Round {
  std::vector<std::shared_ptr<Pending>> batch;
  std::shared_ptr<const Contents> contents;
  std::optional<session::Version> version;
  std::optional<Error> unreadable;

  void run(session::Documents& documents, const std::string& name, std::uint64_t now) {
    for (int attempt = 1;; ++attempt) {
      if (auto read = refresh(documents, name); !read) {
        contents.reset();
        unreadable = read.error();
        for (const auto& pending : batch) pending->outcome = read.error();
        return;
      }
      unreadable.reset();
      auto draft = *contents;
      bool changed = false;
      for (const auto& pending : batch) {
        pending->outcome = memory::apply(draft, pending->operation, now);
        changed = changed || pending->outcome->ok();
      }
      if (!changed) return;
      const auto done = write(documents, name, draft);
      if (done) return;
      contents.reset();
      // Somebody else wrote meanwhile: on top of that, then.
      if (done.error().code == Errc::conflict && attempt < kAttemptsMax) continue;
      for (const auto& pending : batch)
        if (pending->outcome->ok()) pending->outcome = done.error();
      return;
    }
  }

 private:
  Status refresh(session::Documents& documents, const std::string& name) {
    if (contents && documents.unchanged(name, version)) return Ok{};
    REEF_TRY(const auto document, documents.read(name, kFileBytesMax));
    if (!document) {
      version.reset();
      contents = std::make_shared<const Contents>();
      return Ok{};
    }
    const bool same = contents && version == document->version;
    version = document->version;
    if (same) return Ok{};
    auto parsed = parse(document->bytes);
    if (!parsed) return std::move(parsed).error().with(name);
    contents = std::make_shared<const Contents>(*std::move(parsed));
    return Ok{};
  }

  bool replaces_all() const {
    return std::any_of(batch.begin(), batch.end(), [](const auto& pending) {
      return std::holds_alternative<Replace>(pending->operation) && pending->outcome->ok();
    });
  }

  Status write(session::Documents& documents, const std::string& name, const Contents& draft) {
    REEF_TRY(const auto bytes, serialize(draft));
    if (version && replaces_all()) {
      REEF_TRY(const auto before, serialize(*contents));
      const auto kept = documents.replace(name + ".old", before, session::Whatever{});
      if (!kept) return kept.error();
    }
    REEF_TRY(version, documents.replace(name, bytes, session::expect(version)));
    contents = std::make_shared<const Contents>(draft);
    return Ok{};
  }
};

Memory::Memory(Executor loop, session::Documents& documents, Pool& pool, Clock& clock,
               std::string name)
    : documents_(documents),
      pool_(pool),
      clock_(clock),
      name_(std::move(name)),
      changed_(std::move(loop)) {}

Task<void> Memory::work() {
  REEF_ASSERT(!working_);
  working_ = true;
  Round round{{queue_.begin(), queue_.end()}, contents_, version_, {}};
  queue_.clear();
  const auto now =
      std::chrono::duration_cast<std::chrono::seconds>(clock_.now().time_since_epoch()).count();
  try {
    auto visit = [&] {
      round.run(documents_, name_, static_cast<std::uint64_t>(std::max<std::int64_t>(now, 0)));
      return true;
    };
    static_cast<void>(co_await pool_.run(visit));
  } catch (const std::exception& error) {
    // Usually memory ran out. The waiting callers must get an error, and the next visit must work.
    round.contents.reset();
    round.unreadable = Error(Errc::internal, error.what());
    for (const auto& pending : round.batch) pending->outcome = *round.unreadable;
  }
  contents_ = std::move(round.contents);
  version_ = std::move(round.version);
  unreadable_ = std::move(round.unreadable);
  for (const auto& pending : round.batch) pending->done = true;
  working_ = false;
  changed_.notify_all();
}

Task<Result<EntryPtr>> Memory::apply(Operation operation) {
  auto mine = std::make_shared<Pending>(Pending{std::move(operation)});
  co_return co_await shielded(wait_for(std::move(mine)));
}

Task<Result<EntryPtr>> Memory::wait_for(std::shared_ptr<Pending> mine) {
  queue_.push_back(mine);
  // A caller that finds nobody at work does the work of all that wait.
  while (!mine->done) {
    if (working_) {
      co_await changed_.wait();
    } else {
      co_await work();
    }
  }
  co_return *std::move(mine->outcome);
}

Task<Result<std::shared_ptr<const Contents>>> Memory::contents() {
  return shielded(look());
}

Task<Result<std::shared_ptr<const Contents>>> Memory::look() {
  for (;;) {
    // Until the write under way is durable, the old contents count.
    if (working_ && contents_) co_return contents_;
    if (working_) {
      co_await changed_.wait();
      continue;
    }
    co_await work();
    if (contents_) co_return contents_;
    if (unreadable_) co_return *unreadable_;
    // contents_ is in doubt because a write in the same batch failed; the next visit reads the
    // disk.
  }
}

Task<Result<std::vector<Hit>>> Memory::recall(std::string query, std::size_t limit) {
  REEF_CO_TRY(const auto all, co_await contents());
  auto index = indexed_ == all ? index_ : nullptr;
  const auto before = index_;
  auto search = [&] {
    if (!index) index = std::make_shared<const Index>(*all, before.get());
    return index->search(query, limit);
  };
  auto hits = co_await pool_.run(search);
  index_ = std::move(index);
  indexed_ = all;
  co_return hits;
}

Memories::Memories(Executor loop, session::Documents& documents, Pool& pool, Clock& clock)
    : loop_(std::move(loop)), documents_(documents), pool_(pool), clock_(clock) {}

Result<std::shared_ptr<Memory>> Memories::of(std::string_view agent) {
  REEF_TRY(auto name, document_of(agent));
  auto found = cache_.find(agent);
  if (found == cache_.end()) {
    // An unused memory can be read again, so it may go; one in use must stay, or its file would
    // have two.
    while (cache_.size() >= kOpenMax) {
      auto oldest = cache_.end();
      for (auto it = cache_.begin(); it != cache_.end(); ++it)
        if (it->second.memory.use_count() == 1 &&
            (oldest == cache_.end() || it->second.used < oldest->second.used))
          oldest = it;
      if (oldest == cache_.end()) break;
      cache_.erase(oldest);
    }
    auto memory = std::make_shared<Memory>(loop_, documents_, pool_, clock_, std::move(name));
    found = cache_.emplace(std::string(agent), Cached{std::move(memory)}).first;
  }
  found->second.used = ++uses_;
  return found->second.memory;
}

Task<Result<bool>> Memories::exists(std::string agent) {
  REEF_CO_TRY(const auto name, document_of(agent));
  auto look = [&] { return session::is_there(documents_, name); };
  co_return co_await pool_.run(look);
}

Task<Status> Memories::rename(std::string from, std::string to) {
  REEF_CO_TRY(const auto old_name, document_of(from));
  REEF_CO_TRY(const auto new_name, document_of(to));
  auto work = [&] { return documents_.rename(old_name, new_name, session::Nothing{}); };
  auto done = co_await pool_.run(work);
  if (!done && done.error().code == Errc::not_found) co_return Ok{};
  if (!done && done.error().code == Errc::conflict)
    co_return Error(Errc::conflict, fmt::format("there is a memory of an earlier agent '{}': {}",
                                                utf8::excerpt(to), new_name));
  co_return done;
}

Result<std::string> file_name_of(std::string_view agent) {
  if (agent.empty()) return Error(Errc::invalid, "the agent's name must not be empty");
  std::string name;
  for (const char c : agent) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || (c == '.' && !name.empty()) || byte >= 0x80;
    if (plain) {
      name.push_back(c);
    } else {
      name += fmt::format("%{:02X}", byte);
    }
  }
  name += kSuffix;
  if (name.size() > kFileNameBytesMax || !utf8::valid(agent))
    return Error(Errc::invalid,
                 fmt::format("a file cannot have the name of agent '{}'", utf8::excerpt(agent)));
  return name;
}

}  // namespace reef::memory
