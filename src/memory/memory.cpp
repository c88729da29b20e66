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

bool same(const std::optional<Files::Stat>& a, const std::optional<Files::Stat>& b) {
  if (!a || !b) return a.has_value() == b.has_value();
  return a->size == b->size && a->modified_ns == b->modified_ns;
}

// Returns nullopt when there is no file.
Result<std::optional<Files::Stat>> stat_of(Files& files, const std::string& path) {
  auto stat = files.stat_path(path);
  if (stat) return std::optional<Files::Stat>(*stat);
  if (stat.error().code == Errc::not_found) return std::optional<Files::Stat>();
  return std::move(stat).error();
}

Status write_file(Files& files, const std::string& path, std::string_view bytes) {
  auto done = replace_atomically(files, path, bytes);
  if (done || done.error().code != Errc::not_found) return done;
  REEF_CHECK(make_directories(files, parent_of(path)));
  return replace_atomically(files, path, bytes);
}

// A failed write may have got as far as the rename; this puts the old content back.
Status undo(Files& files, const std::string& path, const std::string& written,
            const std::optional<std::string>& before) {
  const auto there = read_all(files, path);
  if (!there && there.error().code == Errc::not_found) return Ok{};
  if (!there) return there.error();
  if (*there != written) return Ok{};
  if (before) return write_file(files, path, *before);
  REEF_CHECK(files.remove(path));
  return files.sync_directory(parent_of(path));
}

}  // namespace

// One visit to the disk, made on the pool with values in and values out.
struct Memory::Round {
  std::vector<std::shared_ptr<Pending>> batch;
  std::shared_ptr<const Contents> contents;
  std::optional<Files::Stat> stat;
  std::optional<Error> unreadable;

  void run(Files& files, const std::string& path, std::uint64_t now) {
    if (auto read = refresh(files, path); !read) {
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
    const auto done = write(files, path, draft);
    if (done) return;
    for (const auto& pending : batch)
      if (pending->outcome->ok()) pending->outcome = done.error();
  }

 private:
  Status refresh(Files& files, const std::string& path) {
    REEF_TRY(const auto now, stat_of(files, path));
    if (contents && same(now, stat)) return Ok{};
    stat = now;
    if (!now) {
      contents = std::make_shared<const Contents>();
      return Ok{};
    }
    if (now->size > kFileBytesMax)
      return Error(Errc::too_large, fmt::format("{} has {} bytes, at most {} are read", path,
                                                now->size, kFileBytesMax));
    REEF_TRY(const auto bytes, read_all(files, path));
    auto parsed = parse(bytes);
    if (!parsed) return std::move(parsed).error().with(path);
    contents = std::make_shared<const Contents>(*std::move(parsed));
    return Ok{};
  }

  bool replaces_all() const {
    return std::any_of(batch.begin(), batch.end(), [](const auto& pending) {
      return std::holds_alternative<Replace>(pending->operation) && pending->outcome->ok();
    });
  }

  Status write(Files& files, const std::string& path, const Contents& draft) {
    REEF_TRY(const auto bytes, serialize(draft));
    if (stat && replaces_all()) {
      REEF_TRY(const auto before, serialize(*contents));
      REEF_CHECK(write_file(files, path + ".old", before));
    }
    auto done = write_file(files, path, bytes);
    if (done) {
      contents = std::make_shared<const Contents>(draft);
      const auto written = stat_of(files, path);
      if (written) {
        stat = *written;
      } else {
        contents.reset();
      }
      return done;
    }
    std::optional<std::string> before;
    if (stat) {
      REEF_TRY(before, serialize(*contents));
    }
    if (const auto undone = undo(files, path, bytes, before); !undone)
      log::error("{}: could not undo a failed write ({}); it is read again", path,
                 undone.error().what);
    contents.reset();
    return done;
  }
};

Memory::Memory(Executor loop, Files& files, Pool& pool, Clock& clock, std::string path)
    : files_(files),
      pool_(pool),
      clock_(clock),
      path_(std::move(path)),
      changed_(std::move(loop)) {}

Task<void> Memory::work() {
  REEF_ASSERT(!working_);
  working_ = true;
  Round round{{queue_.begin(), queue_.end()}, contents_, stat_, {}};
  queue_.clear();
  const auto now =
      std::chrono::duration_cast<std::chrono::seconds>(clock_.now().time_since_epoch()).count();
  try {
    auto visit = [&] {
      round.run(files_, path_, static_cast<std::uint64_t>(std::max<std::int64_t>(now, 0)));
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
  stat_ = round.stat;
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

Memories::Memories(Executor loop, Files& files, Pool& pool, Clock& clock, std::string folder)
    : loop_(std::move(loop)),
      files_(files),
      pool_(pool),
      clock_(clock),
      folder_(std::move(folder)) {}

Result<std::shared_ptr<Memory>> Memories::of(std::string_view agent) {
  REEF_TRY(const auto name, file_name_of(agent));
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
    auto memory = std::make_shared<Memory>(loop_, files_, pool_, clock_, folder_ + "/" + name);
    found = cache_.emplace(std::string(agent), Cached{std::move(memory)}).first;
  }
  found->second.used = ++uses_;
  return found->second.memory;
}

Task<Result<bool>> Memories::exists(std::string agent) {
  REEF_CO_TRY(const auto name, file_name_of(agent));
  auto look = [&]() -> Result<bool> {
    REEF_TRY(const auto stat, stat_of(files_, folder_ + "/" + name));
    return stat.has_value();
  };
  co_return co_await pool_.run(look);
}

Task<Status> Memories::rename(std::string from, std::string to) {
  REEF_CO_TRY(const auto old_name, file_name_of(from));
  REEF_CO_TRY(const auto new_name, file_name_of(to));
  auto work = [&]() -> Status {
    REEF_TRY(const auto old_stat, stat_of(files_, folder_ + "/" + old_name));
    if (!old_stat) return Ok{};
    REEF_TRY(const auto new_stat, stat_of(files_, folder_ + "/" + new_name));
    if (new_stat)
      return Error(Errc::conflict, fmt::format("there is a memory of an earlier agent '{}': {}/{}",
                                               utf8::excerpt(to), folder_, new_name));
    REEF_CHECK(files_.rename(folder_ + "/" + old_name, folder_ + "/" + new_name));
    return files_.sync_directory(folder_);
  };
  co_return co_await pool_.run(work);
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
