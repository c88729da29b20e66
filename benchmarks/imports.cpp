// Imports of every kind, compared with the least that the disk needs for the same bytes: read,
// write, sync.
#include <fmt/format.h>

#include "base/random.h"
#include "exchange/feed.h"
#include "exchange/sources.h"
#include "groups.h"
#include "measure.h"
#include "process.h"
#include "session/row.h"
#include "session/transcript.h"
#include "table.h"
#include "talk.h"
#include "transcripts.h"

namespace reef::benchmarks {
namespace {

constexpr std::size_t kSessions = 200;
constexpr int kTurns = 250;
constexpr std::size_t kReplyBytes = 1'500;
// The size of one session that exceeds the memory that an import may use.
constexpr std::uint64_t kGiantBytes = 512U << 20;
constexpr std::size_t kCopyBytes = 1U << 20;

// The files below a folder, as the writers make them.
class Folder final : public exchange::Outlet {
 public:
  explicit Folder(std::string path) : path_(std::move(path)) {}

  Status begin(std::string path) override {
    const auto full = path_ + "/" + path;
    REEF_CHECK(make_directories(files_, full.substr(0, full.find_last_of('/'))));
    REEF_TRY(file_, files_.open(full, Files::Open::create));
    written.push_back(full);
    return Ok{};
  }
  Status write(std::string_view data) override {
    bytes += data.size();
    return write_all(files_, file_.get(), data);
  }
  Status end() override {
    file_.reset();
    return Ok{};
  }

  std::uint64_t bytes = 0;
  std::vector<std::string> written;

 private:
  PosixFiles files_;
  std::string path_;
  Fd file_;
};

std::string talk_of(std::size_t number) {
  SeededRandom random(number);
  TranscriptText text(small_session_id(number), SystemClock().now(), random);
  std::string reply(kReplyText);
  while (reply.size() < kReplyBytes) reply += random.hex(7) + " and \"so\" on\n";
  for (int turn = 0; turn < kTurns; ++turn) {
    text.add(user_says(std::string(kUserText)));
    text.add(assistant_says(reply));
  }
  return text.bytes();
}

Status make_source(exchange::Writer& writer) {
  for (std::size_t i = 0; i < kSessions; ++i) {
    REEF_CHECK(check_interrupted());
    const auto bytes = talk_of(i);
    const auto row = session::make_row(small_session_id(i), bytes);
    const session::Transcript transcript(session::read_transcript(bytes));
    REEF_CHECK(writer.add(exchange::Exported{row, transcript, {}, bytes}));
  }
  return writer.finish();
}

// Removes from the source what our writers add, so that its lines look like other programs' lines.
Status make_foreign(Folder& folder) {
  PosixFiles files;
  folder.bytes = 0;
  for (const auto& path : folder.written) {
    REEF_CHECK(check_interrupted());
    REEF_TRY(const auto bytes, read_all(files, path));
    std::string lines;
    for (std::string_view rest = bytes; !rest.empty();) {
      const auto end = rest.find('\n');
      REEF_TRY(auto line, json::parse(rest.substr(0, end)));
      line.as_object().stable_erase(exchange::kExtra);
      json::append(lines, line);
      lines.push_back('\n');
      rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    }
    REEF_CHECK(replace_atomically(files, path, lines));
    folder.bytes += lines.size();
  }
  return Ok{};
}

// Makes one file in pi's format without holding it in memory.
Status make_giant(Folder& folder) {
  REEF_CHECK(folder.begin("giant.jsonl"));
  const auto piece = talk_of(0);
  const auto header = piece.find('\n') + 1;
  REEF_CHECK(folder.write(std::string_view(piece).substr(0, header)));
  SeededRandom random(1);
  std::optional<session::EntryId> leaf;
  std::string lines;
  while (folder.bytes < kGiantBytes) {
    lines.clear();
    for (int i = 0; i < 500; ++i) {
      session::EntryId id{random.hex(12)};
      auto draft = i % 2 == 0 ? user_says(std::string(kUserText))
                              : assistant_says(std::string(kReplyBytes, 'x'));
      lines +=
          session::entry_line(session::make_entry(std::move(draft), id, leaf, SystemClock().now()));
      leaf = std::move(id);
    }
    REEF_CHECK(folder.write(lines));
  }
  return folder.end();
}

// Writes the same bytes to as many files and syncs once at the end.
Result<Nanos> copy_plainly(const Folder& source, const std::string& target) {
  PosixFiles files;
  REEF_CHECK(make_directories(files, target));
  const auto began = now();
  std::string buffer(kCopyBytes, '\0');
  for (std::size_t i = 0; i < source.written.size(); ++i) {
    REEF_TRY(const Fd from, files.open(source.written[i], Files::Open::source));
    REEF_TRY(const Fd to, files.open(fmt::format("{}/{}", target, i), Files::Open::create));
    for (std::uint64_t at = 0;;) {
      REEF_TRY(const auto got, files.read(from.get(), at, buffer.data(), buffer.size()));
      if (got == 0) break;
      REEF_CHECK(write_all(files, to.get(), std::string_view(buffer).substr(0, got)));
      at += got;
    }
    if (i + 1 == source.written.size()) REEF_CHECK(files.sync_filesystem(to.get()));
  }
  return now() - began;
}

struct Imported {
  Nanos took;
  Nanos cpu;
  protocol::ImportCounts counts;
};

Task<Status> import_all(Executor loop, const daemon::Home& home, std::string kind, std::string path,
                        bool redact, Imported& out) {
  client::Client client(loop, endpoint_of(home));
  protocol::ClientMessage message;
  auto& request = *message.mutable_import_sessions();
  request.set_kind(std::move(kind));
  request.set_path(std::move(path));
  request.set_redact(redact);
  const auto began = now();
  REEF_CO_TRY(auto stream, co_await client.open(std::move(message)));
  for (;;) {
    REEF_CO_TRY(const auto answer, co_await stream.next());
    if (!answer) co_return Error(Errc::unavailable, "the import ended early");
    const auto& event = answer->import_event();
    if (event.problems_size() > 0)
      co_return Error(Errc::corrupt, event.problems(0).path() + ": " + event.problems(0).why());
    if (!event.last()) continue;
    out.took = now() - began;
    out.counts = event.counts();
    client.close();
    co_return Ok{};
  }
}

class Imports {
 public:
  explicit Imports(const std::string& scratch) : scratch_(scratch) {}

  Status add(const std::string& what, std::string_view kind, const Folder& source,
             const std::string& path, bool redact = false) {
    REEF_CHECK(check_interrupted());
    const auto number_of = std::to_string(++count_);
    REEF_TRY(const auto plain, copy_plainly(source, scratch_ + "/copy-" + number_of));
    const daemon::Home home{scratch_ + "/home-" + number_of};
    REEF_TRY(const auto daemon, start_daemon(home));
    Imported fresh;
    Imported again;
    const auto run = [&](Imported& into) {
      return run_on_loop([&](Executor loop) {
        return import_all(loop, home, std::string(kind), path, redact, into);
      });
    };
    const auto before = cpu_time_of(daemon.process.pid());
    REEF_CHECK(run(fresh));
    fresh.cpu = cpu_time_of(daemon.process.pid()) - before;
    REEF_TRY(const auto used, resident(daemon.process.pid()));
    REEF_CHECK(run(again));
    if (fresh.counts.added() == 0 || again.counts.entries() > 0)
      return Error(Errc::internal, what + ": the import did not do what it should");
    const auto megabytes = double(source.bytes) / 1e6;
    table_.add({what, std::to_string(fresh.counts.added()), number(megabytes),
                number(megabytes / in_seconds(plain)), number(megabytes / in_seconds(fresh.took)),
                number(in_seconds(fresh.took) / in_seconds(plain)),
                number(in_seconds(fresh.cpu) * 1000 / megabytes), number(used.peak_mib),
                number(in_ms(again.took))});
    return Ok{};
  }
  void print() const { table_.print(); }

 private:
  const std::string& scratch_;
  int count_ = 0;
  Table table_{"Import, source in the page cache, durable at its end",
               {"", "sessions", "MB", "copy MB/s (limit)", "import MB/s", "ratio", "CPU s/GB",
                "peak MiB", "again ms"}};
};

}  // namespace

Status imports() {
  REEF_TRY(const Scratch scratch, Scratch::make());
  Imports table(scratch.path());
  for (const auto& source : exchange::sources()) {
    const auto kind = source.name;
    const auto path = scratch.path() + "/" + std::string(kind);
    Folder folder(path);
    const auto writer = source.formats.front().make(folder);
    REEF_CHECK(make_source(*writer));
    const bool foreign = kind == "crabtalk" || kind == "craft";
    REEF_CHECK(
        table.add(std::string(kind) + (foreign ? ", as Reef writes it" : ""), kind, folder, path));
    if (foreign) {
      REEF_CHECK(make_foreign(folder));
      REEF_CHECK(table.add(std::string(kind), kind, folder, path));
    }
    if (kind == "pi") REEF_CHECK(table.add("pi, secrets masked", kind, folder, path, true));
  }
  const auto path = scratch.path() + "/giant";
  Folder giant(path);
  REEF_CHECK(make_giant(giant));
  REEF_CHECK(table.add("pi, one session", "pi", giant, path));
  table.print();
  return Ok{};
}

}  // namespace reef::benchmarks
