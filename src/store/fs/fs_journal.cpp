#include "store/fs/fs_journal.h"

namespace reef::store {
namespace {

Status append_now(Files& files, const std::string& path, const std::string& bytes, bool durable) {
  auto file = open_patiently(files, path, Files::Open::append);
  const bool fresh = !file && file.error().code == Errc::not_found;
  if (fresh) {
    REEF_CHECK(make_directories(files, parent_of(path)));
    file = files.open(path, Files::Open::create);
  }
  if (!file) return std::move(file).error();
  REEF_TRY(const auto before, files.stat(file->get()));
  auto done = write_all(files, file->get(), bytes);
  if (done && durable) done = files.sync(file->get());
  if (done && durable && fresh) done = files.sync_directory(parent_of(path));
  if (!done) static_cast<void>(files.truncate(file->get(), before.size).ok());
  return done;
}

}  // namespace

std::string catalog_of(const std::string& home) {
  return home + "/catalog/rows.jsonl";
}

FsJournal::FsJournal(Files& files, Pool& pool, std::string path, Durable durable)
    : files_(files), pool_(pool), path_(std::move(path)), durable_(durable) {}

Task<Status> FsJournal::read(Use use) {
  auto work = [&]() -> Status {
    const auto fd = files_.open(path_, Files::Open::read);
    if (!fd && fd.error().code == Errc::not_found) return use(session::source_of(""));
    if (!fd) return fd.error();
    REEF_TRY(const auto stat, files_.stat(fd->get()));
    auto used = use(session::ByteSource{stat.size, [&](std::uint64_t offset, std::uint64_t count) {
                                          return read_range(files_, fd->get(), offset, count);
                                        }});
    if (!used) return std::move(used).error().with(path_);
    return used;
  };
  co_return co_await pool_.run(work);
}

Task<Status> FsJournal::append(std::string bytes) {
  auto work = [&] { return append_now(files_, path_, bytes, durable_ == Durable::yes); };
  co_return co_await pool_.run(work);
}

Task<Status> FsJournal::replace(std::string bytes) {
  auto work = [&]() -> Status {
    REEF_CHECK(make_directories(files_, parent_of(path_)));
    return replace_atomically(files_, path_, bytes);
  };
  co_return co_await pool_.run(work);
}

}  // namespace reef::store
