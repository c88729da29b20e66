#include "exchange/archive/home_files.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>

#include <fmt/format.h>

#include "base/utf8.h"
#include "exchange/exchange.h"
#include "session/ids.h"

namespace reef::exchange {
namespace {

constexpr std::string_view kHomeTranscript = "session.jsonl";

bool is_half_done(std::string_view name) {
  return name.ends_with(".tmp") || name == "session.jsonl.new";
}

std::string_view last_name(std::string_view path) {
  return path.substr(path.find_last_of('/') + 1);
}

bool is_transcript(std::string_view path) {
  const auto session = session_of(path);
  return !session.empty() && path == session + "/" + std::string(kHomeTranscript);
}

// Returns where the last whole line ends; 0 when there is none.
Result<std::uint64_t> whole_lines(Files& files, int fd, std::uint64_t size) {
  constexpr std::uint64_t kTailBytes = 64U << 10;
  while (size > 0) {
    const auto count = std::min(size, kTailBytes);
    REEF_TRY(const auto block, read_range(files, fd, size - count, count));
    const auto newline = block.rfind('\n');
    if (newline != std::string::npos) return size - count + newline + 1;
    size -= count;
  }
  return size;
}

}  // namespace

bool is_kept(std::string_view name) {
  // A login that two homes renew becomes invalid in both.
  constexpr std::array<std::string_view, 7> kLeft = {
      "run", "logs", "catalog", "index", "staging", "logins.json", "logins.json.broken"};
  return std::find(kLeft.begin(), kLeft.end(), name) == kLeft.end() && !is_half_done(name);
}

std::string session_of(std::string_view path) {
  const auto top = path.find('/');
  if (top == std::string_view::npos) return {};
  if (path.substr(0, top) != "sessions" && path.substr(0, top) != "trash") return {};
  const auto end = path.find('/', top + 1);
  if (end == std::string_view::npos) return {};
  return session::SessionId::parse(path.substr(top + 1, end - top - 1))
             ? std::string(path.substr(0, end))
             : std::string();
}

HomeFiles::HomeFiles(std::string home) : home_(std::move(home)) {
  // The trash comes after the sessions, so a session deleted meanwhile is found there.
  todo_ = {"sessions", "trash", ""};
}

Result<std::optional<HomeFiles::Piece>> HomeFiles::next(std::size_t bytes_max) {
  for (;;) {
    if (file_) {
      REEF_TRY(auto piece, this->piece(bytes_max));
      return std::optional<Piece>(std::move(piece));
    }
    if (todo_.empty()) return std::optional<Piece>();
    const auto path = std::move(todo_.front());
    todo_.pop_front();
    if (path == "sessions" || path == "trash") {
      visit_sessions(path);
      continue;
    }
    const auto visited = visit(path);
    if (visited) continue;
    if (visited.error().code != Errc::not_found) {
      problem(path, visited.error());
    } else if (is_transcript(path)) {
      seen_.erase(std::string(last_name(session_of(path))));  // it moved: found in the other place
    }
  }
}

void HomeFiles::problem(const std::string& path, const Error& error) {
  problems_.push_back(utf8::sanitize(fmt::format("{}: {}", path, error.what)));
}

// Adds the ids not met before. A session is always in one of the two places.
void HomeFiles::visit_sessions(const std::string& top) {
  const auto names = files_.list(home_ + "/" + top);
  if (!names) {
    if (names.error().code != Errc::not_found) problem(top, names.error());
  } else {
    std::vector<std::string> fresh;
    for (const auto& name : *names)
      if (session::SessionId::parse(name) && !seen_.contains(name))
        fresh.push_back(top + "/" + name);
    todo_.insert(todo_.begin(), fresh.begin(), fresh.end());
  }
  // A session that was restored before we read the trash is back among the sessions.
  if (top == "trash" && !std::exchange(looked_again_, true)) {
    const auto rest = std::find(todo_.begin(), todo_.end(), "");
    todo_.insert(rest, "sessions");
  }
}

Status HomeFiles::visit(const std::string& path) {
  struct ::stat info = {};
  const auto full = path.empty() ? home_ : home_ + "/" + path;
  if (::lstat(full.c_str(), &info) != 0) return sys_error(errno, "look at it");
  if (S_ISDIR(info.st_mode)) {
    if (session_of(path + "/") == path) seen_.insert(std::string(last_name(path)));
    visit_folder(path);
    return Ok{};
  }
  if (!S_ISREG(info.st_mode) || is_half_done(last_name(path))) return Ok{};
  if (const auto named = check_path(path); !named) return named;
  return open(path);
}

void HomeFiles::visit_folder(const std::string& path) {
  auto names = files_.list(path.empty() ? home_ : home_ + "/" + path);
  if (!names) {
    if (names.error().code != Errc::not_found) problem(path, names.error());
    return;
  }
  // The transcript comes first: a file it names was there before the line was written.
  std::stable_partition(names->begin(), names->end(),
                        [](const auto& name) { return name == kHomeTranscript; });
  std::vector<std::string> inside;
  for (const auto& name : *names) {
    if (path.empty() && (!is_kept(name) || name == "sessions" || name == "trash")) continue;
    inside.push_back(path.empty() ? name : path + "/" + name);
  }
  todo_.insert(todo_.begin(), inside.begin(), inside.end());
}

Status HomeFiles::open(const std::string& path) {
  Fd fd(::open((home_ + "/" + path).c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd) return sys_error(errno, "open it");
  struct ::stat info = {};
  if (::fstat(fd.get(), &info) != 0) return sys_error(errno, "look at it");
  if (!S_ISREG(info.st_mode)) return Ok{};
  Piece head;
  head.path = path;
  head.size = static_cast<std::uint64_t>(info.st_size);
  head.modified = info.st_mtim.tv_sec;
  head.executable = (info.st_mode & S_IXUSR) != 0;
  if (is_transcript(path)) {
    REEF_TRY(head.size, whole_lines(files_, fd.get(), head.size));
    if (path.starts_with("sessions/")) ++sessions_;
  }
  file_ = std::move(fd);
  head_ = std::move(head);
  at_ = 0;
  return Ok{};
}

Result<HomeFiles::Piece> HomeFiles::piece(std::size_t bytes_max) {
  Piece out;
  if (at_ == 0) out = head_;
  const auto want = std::min<std::uint64_t>(bytes_max, head_.size - at_);
  if (want > 0) {
    REEF_TRY(out.data, read_range(files_, file_.get(), at_, want));
    if (out.data.size() != want)
      return Error(Errc::conflict, head_.path + " became shorter while it was read; try again");
  }
  at_ += want;
  out.ends = at_ == head_.size;
  if (out.ends) file_.reset();
  return out;
}

}  // namespace reef::exchange
