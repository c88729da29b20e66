#include "store/fs/session_folders.h"

#include <algorithm>
#include <cstdio>
#include <sys/inotify.h>
#include <utility>

#include "base/log.h"

namespace reef::store {
namespace {

// Events that come together are looked at together.
constexpr std::chrono::milliseconds kGather{20};
// Between two looks.
constexpr std::chrono::milliseconds kRest{250};
// What is looked at in one piece of work, and the pause after it: a start with many sessions must
// not take a whole processor.
constexpr std::size_t kLooksAtOnce = 512;
constexpr std::chrono::milliseconds kBreath{2};
// Folders without a watch are looked at within a second, but at most so many after each rest: 5,000
// a second are about one percent of a processor.
constexpr std::size_t kInTurnMax = 1'250;
constexpr std::size_t kRestsPerRound = 3;
constexpr std::size_t kNamesAtOnce = 1'024;

constexpr std::uint32_t kSessionEvents =
    IN_MODIFY | IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_ONLYDIR | IN_ONESHOT;
constexpr std::uint32_t kAllEvents = IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE |
                                     IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;
// Nothing was told yet.
constexpr std::uint64_t kNothing = UINT64_MAX;

// Half of what all programs of the user may have together.
std::size_t fair_share() {
  constexpr unsigned long kUsual = 8192;
  unsigned long all = kUsual;
  if (std::FILE* file = std::fopen("/proc/sys/fs/inotify/max_user_watches", "re")) {
    if (std::fscanf(file, "%lu", &all) != 1) all = kUsual;
    std::fclose(file);
  }
  return all / 2;
}

}  // namespace

struct SessionFolder {
  explicit SessionFolder(session::SessionId session) : id(std::move(session)) {}

  const session::SessionId id;
  std::uint64_t told = kNothing;
  std::uint64_t listed = 0;  // the last list it was in
  int watch = -1;
  std::uint32_t own = 0;    // changes of ours under way
  std::uint32_t owned = 0;  // and ended
  bool due = false;
  bool parked = false;   // among those looked at in turn
  bool ordered = false;  // among those that got a watch
  bool lively = false;   // changed since that was last asked
  bool gone = false;
};

// What one look finds.
struct SessionFolders::Look {
  Folder folder;
  bool wants_watch = false;
  std::uint32_t owned = 0;  // when it began
  int watch = -1;
  bool no_room = false;  // for a watch
  bool there = false;    // the folder is
  bool failed = false;
  std::uint64_t bytes = 0;

  // On the pool.
  void see(Inotify* inotify, Files& files, const std::string& all) {
    const auto path = all + "/" + folder->id.text();
    if (wants_watch && inotify) {
      const auto added = inotify->add(path, kSessionEvents);
      if (added) watch = *added;
      no_room = !added && added.error().code == Errc::no_space;
    }
    // Behind the watch, so that no change is missed between the two.
    const auto stat = files.stat_path(path + "/session.jsonl");
    if (stat) {
      there = true;
      bytes = stat->size;
    } else if (stat.error().code == Errc::not_found) {
      there = files.stat_path(path).ok();
    } else {
      failed = true;
    }
  }
};

SessionFolders::SessionFolders(Needs needs) : needs_(std::move(needs)), stirred_(needs_.loop) {
  if (needs_.watches_max == 0) return;
  needs_.watches_max = std::min(needs_.watches_max, fair_share());
  auto inotify = Inotify::begin(needs_.loop);
  if (inotify) {
    inotify_ = *std::move(inotify);
  } else {
    log::warn("sessions are looked at in turn: {}", inotify.error().what);
  }
}

Task<void> SessionFolders::run(std::shared_ptr<SessionFolders> self) {
  // Asio 1.81 ends the program when a spawned coroutine is cancelled before it was suspended.
  co_await yield_to_loop();
  self->read_events();
  while (!self->ended_) {
    if (std::exchange(self->list_, false)) co_await self->list();
    co_await self->look_at_due();
    co_await self->wait();
  }
}

void SessionFolders::end() {
  ended_ = true;
  needs_.hear = nullptr;
  if (inotify_) inotify_->end();
  stirred_.notify_all();
}

Task<void> SessionFolders::wait() {
  co_await sleep_for(kRest);
  look_in_turn();
  // As often as each session is looked at when none can be watched.
  const auto rests = std::max(kRestsPerRound, folders_.size() / kInTurnMax);
  if (all_watch_ < 0 && ++rests_ % rests == 0) list_ = true;
  // Where the kernel tells of everything, it is waited for.
  if (all_watch_ >= 0 && unwatched_.empty())
    while (!readable_ && !list_ && !ended_ && due_.empty()) co_await stirred_.wait();
  if (!readable_ || ended_) co_return;
  co_await sleep_for(kGather);
  if (!ended_) read_events();
}

// ---- what there is ----

void SessionFolders::watch_all() {
  if (!inotify_ || all_watch_ >= 0) return;
  const auto added = inotify_->add(needs_.folder, kAllEvents);
  if (!added) return;
  all_watch_ = *added;
  if (lists_ == 0) return;
  // It may be another folder than before.
  everything_ = true;
  tell({std::nullopt});
}

Task<void> SessionFolders::list() {
  watch_all();
  const bool first = lists_++ == 0;
  const bool everything = std::exchange(everything_, false);
  auto work = [this] { return needs_.files.list(needs_.folder); };
  auto names = co_await needs_.pool.run(work);
  // A folder of sessions that cannot be read says nothing of those in it.
  if (!names) co_return log::debug("{}", names.error().what);
  // Backwards: ids begin with a date, and the newest sessions are those that change.
  for (std::size_t i = names->size(); i-- > 0 && !ended_;) {
    if (const auto id = session::SessionId::parse((*names)[i])) {
      const auto folder = find_or_make(*id);
      folder->listed = lists_;
      const bool fresh = folder->told == kNothing;
      if (fresh && !first) folder->lively = true;
      if ((fresh || everything) && !std::exchange(folder->due, true)) due_.push_back(folder);
    }
    // A hundred thousand take a while, and others want the loop, too.
    if (i % kNamesAtOnce == 0) co_await yield_to_loop();
  }
  if (first && inotify_ && folders_.size() > needs_.watches_max)
    log::info(
        "{} of {} sessions are watched, half of what fs.inotify.max_user_watches allows; the "
        "others are looked at in turn",
        needs_.watches_max, folders_.size());
  std::vector<Folder> missing;
  for (const auto& [id, folder] : folders_)
    if (folder->listed != lists_) missing.push_back(folder);
  for (const auto& folder : missing) touch(folder);
}

SessionFolders::Folder SessionFolders::find_or_make(const session::SessionId& id) {
  const auto found = folders_.find(id.text());
  if (found != folders_.end()) return found->second;
  auto folder = std::make_shared<SessionFolder>(id);
  folder->listed = lists_;
  folders_.emplace(folder->id.text(), folder);
  return folder;
}

void SessionFolders::drop(const Folder& folder) {
  end_watch(folder);
  folder->gone = true;
  folders_.erase(folder->id.text());
}

void SessionFolders::touch(const Folder& folder) {
  if (folder->gone || std::exchange(folder->due, true)) return;
  due_.push_front(folder);
  stirred_.notify_all();
}

// ---- looking ----

std::vector<SessionFolders::Look> SessionFolders::next_looks() {
  std::vector<Look> looks;
  std::vector<Folder> later;
  std::size_t room =
      watched_.size() < needs_.watches_max ? needs_.watches_max - watched_.size() : 0;
  while (!due_.empty() && looks.size() < kLooksAtOnce) {
    auto folder = std::move(due_.front());
    due_.pop_front();
    if (folder->gone) continue;
    if (folder->own > 0) {
      later.push_back(std::move(folder));
      continue;
    }
    folder->due = false;
    Look look{std::move(folder)};
    look.owned = look.folder->owned;
    // A lively one takes the place of another; one that has a watch may have been replaced.
    look.wants_watch =
        inotify_ && (look.folder->watch >= 0 || room > 0 || (look.folder->lively && make_room()));
    if (look.wants_watch && look.folder->watch < 0 && room > 0) --room;
    looks.push_back(std::move(look));
  }
  for (auto& folder : later) due_.push_back(std::move(folder));
  return looks;
}

Task<void> SessionFolders::look_at_due() {
  while (!ended_) {
    auto looks = next_looks();
    if (looks.empty()) co_return;
    auto work = [&] {
      for (auto& look : looks) look.see(inotify_.get(), needs_.files, needs_.folder);
      return true;
    };
    co_await needs_.pool.run(work);
    for (auto& look : looks)
      if (!ended_) take(look);
    if (due_.empty()) co_return;
    co_await sleep_for(kBreath);
    if (readable_ && !ended_) read_events();
  }
}

void SessionFolders::take(Look& look) {
  const auto& folder = look.folder;
  if (folder->gone) {
    if (look.watch >= 0 && !watched_.contains(look.watch)) inotify_->remove(look.watch);
    return;
  }
  if (look.watch >= 0) set_watch(folder, look.watch);
  if (look.no_room && watched_.size() < needs_.watches_max) {
    needs_.watches_max = watched_.size();
    log::info(
        "the kernel watches {} of {} sessions for this user (fs.inotify.max_user_watches); "
        "the others are looked at in turn",
        watched_.size(), folders_.size());
  }
  park(folder);
  // It was changed here meanwhile: what was seen may be half of that.
  if (folder->own > 0 || folder->owned != look.owned) return touch(folder);
  if (look.failed) return;
  const auto before = std::exchange(folder->told, look.bytes);
  if (look.bytes != before) tell({folder->id, look.bytes});
  if (!look.there) return drop(folder);
  if (look.bytes == before || before == kNothing) return;
  // It is lively, so it may have the watch of another.
  folder->lively = true;
  if (folder->watch < 0 && !look.wants_watch && needs_.watches_max > 0) touch(folder);
}

void SessionFolders::tell(const session::Heard& heard) {
  // A copy: whoever is told may end the watch.
  if (const auto hear = needs_.hear) hear(heard);
}

void SessionFolders::park(const Folder& folder) {
  if (folder->watch >= 0 || std::exchange(folder->parked, true)) return;
  unwatched_.push_back(folder);
}

void SessionFolders::look_in_turn() {
  const auto share = (unwatched_.size() + kRestsPerRound - 1) / kRestsPerRound;
  for (auto left = std::min(share, kInTurnMax); left > 0; --left) {
    const auto folder = std::move(unwatched_.front());
    unwatched_.pop_front();
    folder->parked = false;
    if (folder->gone || folder->watch >= 0) continue;
    if (!std::exchange(folder->due, true)) due_.push_back(folder);
  }
}

// ---- watches ----

void SessionFolders::set_watch(const Folder& folder, int watch) {
  if (folder->watch == watch) return;
  end_watch(folder);  // of what was in its place before
  folder->watch = watch;
  watched_[watch] = folder;
  if (std::exchange(folder->ordered, true)) return;
  if (folder->lively) {
    oldest_.push_back(folder);
  } else {
    oldest_.push_front(folder);  // at the start, the newest are watched first
  }
}

void SessionFolders::end_watch(const Folder& folder) {
  if (folder->watch < 0) return;
  inotify_->remove(folder->watch);
  watched_.erase(std::exchange(folder->watch, -1));
}

bool SessionFolders::make_room() {
  for (auto left = oldest_.size(); left > 0; --left) {
    const auto folder = std::move(oldest_.front());
    oldest_.pop_front();
    folder->ordered = false;
    if (folder->gone || folder->parked) continue;
    // What changed since has another turn; so has what is about to be looked at.
    if (std::exchange(folder->lively, false) || folder->watch < 0) {
      folder->ordered = true;
      oldest_.push_back(folder);
      continue;
    }
    end_watch(folder);
    park(folder);
    return true;
  }
  return false;
}

void SessionFolders::read_events() {
  if (!inotify_) return;
  readable_ = false;
  inotify_->read([this](const Inotify::Event& event) { take_event(event); });
  inotify_->wait([self = shared_from_this()] {
    self->readable_ = true;
    self->stirred_.notify_all();
  });
}

void SessionFolders::take_event(const Inotify::Event& event) {
  if ((event.mask & IN_Q_OVERFLOW) != 0) {
    list_ = everything_ = true;
    return;
  }
  if (event.watch == all_watch_) {
    if ((event.mask & (IN_IGNORED | IN_DELETE_SELF | IN_MOVE_SELF)) != 0) {
      // Another folder of sessions may be in its place.
      if ((event.mask & IN_MOVE_SELF) != 0) inotify_->remove(all_watch_);
      all_watch_ = -1;
      list_ = everything_ = true;
      return tell({std::nullopt});
    }
    const auto id = session::SessionId::parse(event.name);
    if (!id) return;
    const auto folder = find_or_make(*id);
    // A watch goes with the folder; another one may have its name by now.
    if ((event.mask & IN_MOVED_FROM) != 0) end_watch(folder);
    folder->lively = true;
    return touch(folder);
  }
  const auto found = watched_.find(event.watch);
  if (found == watched_.end()) return;
  const auto folder = found->second;
  if ((event.mask & IN_IGNORED) != 0) {
    watched_.erase(found);
    folder->watch = -1;
  } else {
    folder->lively = true;
  }
  touch(folder);
}

// ---- own changes ----

SessionFolders::OwnChange::OwnChange(const std::weak_ptr<SessionFolders>& folders,
                                     const session::SessionId& id)
    : folders_(folders.lock()) {
  if (!folders_ || folders_->ended_) return;
  folder_ = folders_->find_or_make(id);
  ++folder_->own;
}

SessionFolders::OwnChange::~OwnChange() {
  if (!folder_) return;
  --folder_->own;
  ++folder_->owned;
  if (folders_->ended_ || folder_->watch >= 0) return;
  // Nobody else says that it changed.
  folder_->lively = true;
  folders_->touch(folder_);
}

void SessionFolders::OwnChange::made(std::uint64_t bytes) {
  if (folder_) folder_->told = bytes;
}

}  // namespace reef::store
