#include "store/fs/appends.h"

#include <deque>
#include <mutex>

#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/this_coro.hpp>
#include <fmt/format.h>

#include "base/log.h"
#include "base/notify.h"

namespace reef::store {
namespace {

// More appends at once than this share a sync, which was measured to be cheaper from here on.
constexpr std::size_t kDirectMax = 4;
// While one batch waits for the disk, another is written and a third is made ready.
constexpr std::size_t kWritersMax = 2;
constexpr std::size_t kBatchMax = 64;

Error failed_append(Error error, const std::string& file) {
  // A caller tries again after a conflict, which it must not do after an error of the disk.
  if (error.code == Errc::conflict) error.code = Errc::io;
  return std::move(error).with("append to " + file);
}

// Opens the file when it is `at` bytes long and writes behind its end; not yet durable.
Result<Fd> write_behind(Files& files, const std::string& file, std::uint64_t at,
                        std::string_view bytes) {
  REEF_TRY(Fd fd, files.open(file, Files::Open::append));
  REEF_TRY(const auto stat, files.stat(fd.get()));
  if (stat.size != at)
    return Error(Errc::conflict,
                 fmt::format("{} is {} bytes long, expected {}", file, stat.size, at));
  auto done = write_all(files, fd.get(), bytes);
  if (done) return fd;
  undo_append(files, file, fd.get(), at, bytes.size());
  return failed_append(std::move(done).error(), file);
}

// Several appends that are written together, with one sync.
struct Batch {
  explicit Batch(Executor on) : loop(std::move(on)), done(loop) {}

  Executor loop;
  Notify done;
  bool over = false;                   // used by the loop
  std::vector<PendingAppend> appends;  // used by a writer once taken, by the loop when over
};

}  // namespace

void undo_append(Files& files, const std::string& file, int fd, std::uint64_t at,
                 std::uint64_t count) {
  const auto now = files.stat(fd);
  if (now && now->size > at + count) {
    log::error("{}: a failed append could not be undone: another program wrote behind it", file);
    return;
  }
  auto undone = files.truncate(fd, at);
  if (undone) undone = files.sync(fd);
  if (!undone)
    log::error("{}: could not undo a failed append ({}); it is repaired when next opened", file,
               undone.error().what);
}

Status append_transcript(Files& files, const std::string& file, std::uint64_t at,
                         std::string_view bytes) {
  REEF_TRY(const Fd fd, write_behind(files, file, at, bytes));
  auto done = files.sync(fd.get());
  if (done) return done;
  undo_append(files, file, fd.get(), at, bytes.size());
  return failed_append(std::move(done).error(), file);
}

void append_transcripts(Files& files, std::vector<PendingAppend>& batch) {
  std::vector<std::pair<PendingAppend*, Fd>> written;
  for (auto& append : batch) {
    auto fd = write_behind(files, append.file, append.at, append.bytes);
    if (fd) {
      written.emplace_back(&append, *std::move(fd));
    } else {
      append.outcome = std::move(fd).error();
    }
  }
  if (written.empty()) return;
  const auto done = files.sync_filesystem(written.front().second.get());
  for (auto& [append, fd] : written) {
    if (done) {
      append->outcome = Ok{};
    } else {
      undo_append(files, append->file, fd.get(), append->at, append->bytes.size());
      append->outcome = failed_append(done.error(), append->file);
    }
  }
}

// A writer goes from batch to batch without asking the loop in between, so that appends that came
// while the disk was busy are begun at once.
struct Appends::Batches {
  explicit Batches(Files& all) : files(all) {}

  Files& files;
  std::mutex mutex;  // protects all below
  std::deque<std::shared_ptr<Batch>> waiting;
  std::size_t writers = 0;
  std::size_t coming = 0;  // writers that are not yet at work

  // Takes the next batch; null when the writer is not needed any more.
  std::shared_ptr<Batch> take() {
    const std::lock_guard lock(mutex);
    if (waiting.empty()) {
      --writers;
      return nullptr;
    }
    auto out = std::move(waiting.front());
    waiting.pop_front();
    return out;
  }

  void write() {
    {
      const std::lock_guard lock(mutex);
      --coming;
    }
    while (auto batch = take()) {
      std::string failure = "the append was not done";
      try {
        append_transcripts(files, batch->appends);
      } catch (const std::exception& error) {
        failure = error.what();
      }
      for (auto& append : batch->appends)
        if (!append.outcome) append.outcome = Error(Errc::internal, failure);
      auto loop = batch->loop;
      boost::asio::post(loop, [batch = std::move(batch)] {
        batch->over = true;
        batch->done.notify_all();
      });
    }
  }
};

Appends::Appends(Files& files, Pool& pool)
    : files_(files), pool_(pool), batches_(std::make_shared<Batches>(files)) {}

Appends::~Appends() = default;

// The lease is waited for here: where the file is opened, the others of a batch would wait too.
Task<Status> Appends::append(std::string file, std::uint64_t at, std::string bytes) {
  constexpr std::chrono::milliseconds kPatience{2'000};
  constexpr std::chrono::milliseconds kStepMax{100};
  const auto loop = co_await boost::asio::this_coro::executor;
  const auto deadline = steady_now(loop) + kPatience;
  for (std::chrono::milliseconds step{2};; step = std::min(step * 2, kStepMax)) {
    auto done = co_await append_once(file, at, bytes);
    if (done || done.error().code != Errc::busy || steady_now(loop) >= deadline) co_return done;
    co_await sleep_for(step);
  }
}

Task<Status> Appends::append_once(const std::string& file, std::uint64_t at, std::string& bytes) {
  const auto in_batches = [this] {
    const std::lock_guard lock(batches_->mutex);
    return batches_->writers > 0;
  };
  // A lone writer never waits for others. Single appends do not mix with batches, because each sync
  // of one file makes the batches wait for the disk once more.
  if (direct_ >= kDirectMax || in_batches()) co_return co_await append_in_batch(file, at, bytes);
  struct Counted {
    std::size_t& count;
    explicit Counted(std::size_t& c) : count(c) { ++count; }
    ~Counted() { --count; }
  } counted(direct_);
  auto work = [&] { return append_transcript(files_, file, at, bytes); };
  co_return co_await pool_.run(work);
}

Task<Status> Appends::append_in_batch(const std::string& file, std::uint64_t at,
                                      std::string& bytes) {
  // Keeps the loop running while a writer has something for it.
  auto loop = boost::asio::prefer(Executor(co_await boost::asio::this_coro::executor),
                                  boost::asio::execution::outstanding_work.tracked);
  std::shared_ptr<Batch> batch;
  std::size_t place = 0;
  {
    const std::lock_guard lock(batches_->mutex);
    auto& waiting = batches_->waiting;
    if (batches_->writers < kWritersMax && batches_->coming == 0) {
      // Posted first, because that may fail.
      pool_.post([batches = batches_] { batches->write(); });
      ++batches_->writers;
      ++batches_->coming;
    }
    if (waiting.empty() || waiting.back()->appends.size() == kBatchMax)
      waiting.push_back(std::make_shared<Batch>(std::move(loop)));
    batch = waiting.back();
    place = batch->appends.size();
    batch->appends.push_back(PendingAppend{file, at, std::move(bytes)});
  }
  while (!batch->over) co_await batch->done.wait();
  bytes = std::move(batch->appends[place].bytes);  // for another attempt
  co_return *std::move(batch->appends[place].outcome);
}

}  // namespace reef::store
