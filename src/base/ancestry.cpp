#include "base/ancestry.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include <dirent.h>

namespace reef {
namespace {

constexpr int kLooksMax = 16;
constexpr int kGenerationsMax = 10'000;

struct Line {
  char state = '?';
  pid_t parent = 0, group = 0, session = 0;
  unsigned long long started = 0;  // ticks since boot
};

std::optional<Line> line_of(pid_t process) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/stat", static_cast<int>(process));
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  char text[1024];
  const auto got = ::read(fd, text, sizeof text - 1);
  ::close(fd);
  if (got <= 0) return std::nullopt;
  text[got] = '\0';
  // pid (name) state parent group session ... started; the name may hold anything.
  const char* after = std::strrchr(text, ')');
  Line line;
  int parent = 0;
  int group = 0;
  int session = 0;
  if (after == nullptr ||
      std::sscanf(after + 1,
                  " %c %d %d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
                  &line.state, &parent, &group, &session, &line.started) != 5)
    return std::nullopt;
  line.parent = parent;
  line.group = group;
  line.session = session;
  return line;
}

// Returns nothing when something changed while it looked.
std::optional<Kinship> look(pid_t process, pid_t ancestor) {
  auto line = line_of(process);
  if (!line) return Kinship::unknown;
  for (int generation = 0; generation < kGenerationsMax; ++generation) {
    if (line->parent == ancestor) return Kinship::descendant;
    if (line->parent == 0) return Kinship::stranger;
    const auto above = line_of(line->parent);
    if (!above) {
      // A process never points to a parent that is gone: either it has another parent now, or this
      // one is hidden.
      const auto again = line_of(process);
      if (again && again->started == line->started && again->parent == line->parent)
        return Kinship::stranger;
      return std::nullopt;
    }
    // This number is another process's by now: parents, adopting ones too, are older.
    if (above->started > line->started) return std::nullopt;
    process = line->parent;
    line = above;
  }
  return std::nullopt;
}

}  // namespace

Kinship kinship(pid_t process, pid_t ancestor) {
  for (int looks = 0; looks < kLooksMax; ++looks)
    if (const auto seen = look(process, ancestor)) return *seen;
  return Kinship::unknown;
}

bool has_children() {
  siginfo_t ignored;
  return ::waitid(P_ALL, 0, &ignored, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD;
}

void reap_adopted() {
  const auto self = ::getpid();
  const auto own_session = ::getsid(0);
  // Usually the first child that has ended may be reaped, and there is no other.
  for (;;) {
    siginfo_t ended;
    ended.si_pid = 0;
    if (::waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid == 0) return;
    const auto line = line_of(ended.si_pid);
    if (!line || (line->session == own_session && line->group == ended.si_pid)) break;
    ::waitpid(ended.si_pid, nullptr, WNOHANG);
  }
  DIR* threads = ::opendir("/proc/self/task");
  if (threads == nullptr) return;
  while (const dirent* thread = ::readdir(threads)) {
    if (thread->d_name[0] == '.') continue;
    const auto path = std::string("/proc/self/task/") + thread->d_name + "/children";
    std::FILE* children = std::fopen(path.c_str(), "re");
    if (children == nullptr) continue;  // a kernel without these lists
    int child = 0;
    while (std::fscanf(children, "%d", &child) == 1) {
      const auto line = line_of(child);
      if (!line || line->state != 'Z' || line->parent != self) continue;
      if (line->session == own_session && line->group == child) continue;
      ::waitpid(child, nullptr, WNOHANG);
    }
    std::fclose(children);
  }
  ::closedir(threads);
}

}  // namespace reef
