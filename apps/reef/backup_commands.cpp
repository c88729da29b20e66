// backup and restore-backup: write a home into one file and read it back.

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <set>
#include <sys/statvfs.h>
#include <unistd.h>

#include <fmt/format.h>

#include "archive_file.h"
#include "base/utf8.h"
#include "base/visible.h"
#include "commands.h"
#include "exchange/archive/home_files.h"
#include "file_tree.h"
#include "session/ids.h"

namespace reef::cli {
namespace {

namespace fs = std::filesystem;

// The first file of every backup, by which a backup is recognised.
constexpr std::string_view kManifest = "reef-backup.json";
constexpr int kManifestVersion = 1;

std::string manifest() {
  return json::write(json::object{{"kind", "reef-backup"},
                                  {"version", kManifestVersion},
                                  {"createdAt", format_iso(SystemClock().now())},
                                  {"madeBy", std::string("reef ") + REEF_VERSION}}) +
         "\n";
}

void print_summary(const Context& context, std::string_view where_name, const std::string& where,
                   std::string_view done, std::uint64_t sessions, std::uint64_t files,
                   std::uint64_t bytes) {
  if (context.json) {
    print_json(json::object{{where_name, utf8::sanitize(where)},
                            {"sessions", sessions},
                            {"files", files},
                            {"bytes", bytes}});
  } else {
    print_line(fmt::format("{} {}: {} session(s), {} file(s), {}", done, utf8::visible(where),
                           sessions, files, human_bytes(bytes)));
  }
}

Task<Status> backup(const Context& context, client::Client& client, std::string path, bool force) {
  REEF_CO_TRY(const auto archive, ArchiveWriter::create(path, force));
  const auto about = manifest();
  REEF_CO_CHECK(archive->begin({std::string(kManifest), about.size(), 0, false}));
  REEF_CO_CHECK(archive->write(about));
  REEF_CO_CHECK(archive->end());

  protocol::ClientMessage message;
  message.mutable_backup();
  REEF_CO_TRY(auto stream, co_await client.open(std::move(message)));
  protocol::FilePiece summary;
  for (bool inside = false; !summary.last();) {
    REEF_CO_TRY(const auto answer, co_await stream.next());
    if (!answer || !answer->has_file_piece()) co_return out_of_turn();
    const auto& piece = answer->file_piece();
    if (inside == (piece.last() || !piece.path().empty())) co_return out_of_turn();
    if (piece.last()) {
      summary = piece;
      continue;
    }
    if (!piece.path().empty())
      REEF_CO_CHECK(
          archive->begin({piece.path(), piece.size(), piece.modified(), piece.executable()}));
    REEF_CO_CHECK(archive->write(piece.data()));
    if (piece.ends()) REEF_CO_CHECK(archive->end());
    inside = !piece.ends();
  }
  REEF_CO_TRY(const auto size, archive->finish());
  for (const auto& problem : summary.problems()) report("backup", Error(Errc::io, problem));
  print_summary(context, "file", path, "backed up to", summary.sessions(), summary.files(),
                summary.bytes());
  if (!context.json) print_line(fmt::format("the archive has {}", human_bytes(size)));
  if (summary.problems_size() > 0)
    co_return Error(Errc::io, fmt::format("{} file(s) are missing in it", summary.problems_size()));
  co_return Ok{};
}

// ---- restore ----

// Unpacks an archive into a folder beside its place, so that nothing changes until all of it was
// read.
class Staging final : public exchange::TarReader::Sink {
 public:
  Staging(FileTree tree, std::string folder) : tree_(std::move(tree)), folder_(std::move(folder)) {}

  Status begin(const exchange::TarFile& file) override {
    file_ = file;
    skipped_ = false;
    if (!recognised_) {
      if (file.path != kManifest) return Error(Errc::invalid, "this is not a backup made by reef");
      about_.emplace();
      return Ok{};
    }
    // Takes only what a backup holds, and nothing that a daemon would trust as its own work.
    const auto top = file.path.substr(0, file.path.find('/'));
    const bool of_sessions = top == "sessions" || top == "trash";
    skipped_ = !exchange::is_kept(top) || (of_sessions && exchange::session_of(file.path).empty());
    if (skipped_) return Ok{};
    struct statvfs disk = {};
    if (::statvfs(folder_.c_str(), &disk) == 0 && file.size > disk.f_bavail * disk.f_frsize)
      return Error(Errc::no_space, fmt::format("'{}' has {}: there is not so much room",
                                               utf8::excerpt(file.path), human_bytes(file.size)));
    return tree_.begin(file.path);
  }

  Status data(std::string_view bytes) override {
    if (about_) {
      if (about_->size() + bytes.size() > 4096)
        return Error(Errc::invalid, "this is not a backup made by reef");
      *about_ += bytes;
      return Ok{};
    }
    return skipped_ ? Status(Ok{}) : tree_.write(bytes);
  }

  Status end() override {
    if (about_) {
      const auto text = json::parse(*about_);
      about_.reset();
      if (!text || !text->is_object() ||
          json::find_string(text->get_object(), "kind") != "reef-backup")
        return Error(Errc::invalid, "this is not a backup made by reef");
      const auto version = json::find_int(text->get_object(), "version").value_or(0);
      if (version > kManifestVersion)
        return Error(Errc::unsupported,
                     fmt::format("this backup has version {}; a newer reef made it", version));
      recognised_ = true;
      return Ok{};
    }
    if (skipped_) return Ok{};
    REEF_CHECK(tree_.end());
    if (file_.executable)
      fs::permissions(folder_ + "/" + file_.path, fs::perms::owner_all, ignored_);
    return Ok{};
  }

 private:
  FileTree tree_;
  std::string folder_;
  exchange::TarFile file_;
  bool recognised_ = false;
  bool skipped_ = false;
  std::optional<std::string> about_;  // the manifest while it is read
  std::error_code ignored_;
};

// A folder that is removed in the end.
struct Scratch {
  std::string path;
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
    fs::remove(fs::path(path).parent_path(), ignored);  // when it is empty
  }
};

bool has_entries(const std::string& folder) {
  std::error_code failed;
  const fs::directory_iterator it(folder, failed);
  return !failed && it != fs::directory_iterator();
}

struct Restored {
  std::uint64_t sessions = 0, files = 0, bytes = 0;
  std::vector<std::string> kept;  // names that were here already
};

void count(Restored& done, const fs::path& path) {
  std::error_code failed;
  if (fs::is_directory(path, failed)) {
    for (fs::recursive_directory_iterator it(path, failed), end; !failed && it != end;
         it.increment(failed))
      if (it->is_regular_file(failed)) count(done, it->path());
    return;
  }
  ++done.files;
  done.bytes += fs::file_size(path, failed);
}

std::vector<std::string> names_in(const std::string& folder) {
  PosixFiles files;
  auto names = files.list(folder);
  return names ? *std::move(names) : std::vector<std::string>();
}

// Moves each session by one rename, so it is there whole or not at all.
Status move_sessions(const std::string& staged, const daemon::Home& home, Restored& done) {
  PosixFiles files;
  for (const std::string top : {"sessions", "trash"}) {
    const auto names = names_in(staged + "/" + top);
    if (names.empty()) continue;
    REEF_CHECK(make_directories(files, home.root + "/" + top));
    for (const auto& name : names) {
      const auto from = staged + "/" + top + "/" + name;
      if (!files.stat_path(from + "/session.jsonl"))
        return Error(Errc::corrupt,
                     fmt::format("{}/{} has no transcript in this backup", top, name));
      if (files.stat_path(home.root + "/sessions/" + name) ||
          files.stat_path(home.root + "/trash/" + name)) {
        done.kept.push_back(top + "/" + name);
        continue;
      }
      Restored moved;
      count(moved, from);
      REEF_CHECK(files.rename(from, home.root + "/" + top + "/" + name));
      done.files += moved.files;
      done.bytes += moved.bytes;
      if (top == "sessions") ++done.sessions;
    }
    REEF_CHECK(files.sync_directory(home.root + "/" + top));
  }
  return Ok{};
}

// Moves everything else, file by file; files that are here already stay unchanged.
Status move_rest(const std::string& staged, const daemon::Home& home, Restored& done) {
  PosixFiles files;
  std::vector<std::string> paths;
  std::error_code failed;
  for (fs::recursive_directory_iterator it(staged, failed), end; !failed && it != end;
       it.increment(failed)) {
    const auto path = it->path().lexically_relative(staged).string();
    if (path == "sessions" || path == "trash") {
      it.disable_recursion_pending();
    } else if (it->is_regular_file(failed)) {
      paths.push_back(path);
    }
  }
  if (failed) return Error(Errc::io, "look at what was unpacked: " + failed.message());
  for (const auto& path : paths) {
    const auto to = home.root + "/" + path;
    const auto folder = fs::path(to).parent_path().string();
    Restored moved;
    count(moved, staged + "/" + path);
    REEF_CHECK(make_directories(files, folder));
    if (::renameat2(AT_FDCWD, (staged + "/" + path).c_str(), AT_FDCWD, to.c_str(),
                    RENAME_NOREPLACE) != 0) {
      if (errno != EEXIST) return sys_error(errno, "restore " + to);
      done.kept.push_back(path);
      continue;
    }
    REEF_CHECK(files.sync_directory(folder));
    done.files += moved.files;
    done.bytes += moved.bytes;
  }
  return Ok{};
}

Result<Restored> restore(const daemon::Home& home, const std::string& path, bool merge) {
  PosixFiles files;
  // A wrong name is reported before anything is created.
  REEF_TRY(const Fd readable, files.open(path, Files::Open::read));
  REEF_CHECK(daemon::prepare_home(files, home));
  auto hold = daemon::own_home(home);
  if (!hold) {
    if (hold.error().code == Errc::conflict) hold.error().what += "; stop it first: reef stop";
    return std::move(hold).error();
  }
  if (!merge && (has_entries(home.sessions()) || has_entries(home.root + "/trash")))
    return Error(Errc::conflict, home.root + " has sessions; --merge adds those that are missing");
  const Scratch scratch{fmt::format("{}/staging/restore-{}", home.root, ::getpid())};
  {
    REEF_TRY(auto tree, FileTree::open(scratch.path, FileTree::Existing::refuse));
    Staging staging(std::move(tree), scratch.path);
    REEF_CHECK(read_archive(path, staging));
  }
  REEF_TRY(const Fd folder, files.open(scratch.path, Files::Open::read));
  REEF_CHECK(files.sync_filesystem(folder.get()));
  Restored done;
  REEF_CHECK(move_sessions(scratch.path, home, done));
  REEF_CHECK(move_rest(scratch.path, home, done));
  return done;
}

}  // namespace

int run_backup(const Context& context, const std::string& path, bool force) {
  return with_client(context, "backup", Start::if_needed,
                     [&](client::Client& client) { return backup(context, client, path, force); });
}

int run_restore_backup(const Context& context, const std::string& path, bool merge) {
  const auto done = restore(context.home, path, merge);
  if (!done) return report("restore-backup", done.error());
  print_summary(context, "home", context.home.root, "restored into", done->sessions, done->files,
                done->bytes);
  constexpr std::size_t kShown = 10;
  if (!context.json)
    for (std::size_t i = 0; i < std::min(kShown, done->kept.size()); ++i)
      print_line(fmt::format("left as it was: {}", utf8::visible(done->kept[i])));
  if (!context.json && done->kept.size() > kShown)
    print_line(fmt::format("and {} more", done->kept.size() - kShown));
  return 0;
}

}  // namespace reef::cli
