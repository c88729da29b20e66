// What other programs do to the transcripts of a home, and when to tell of it.
//
// The folder of every session is watched by inotify, the newest first, as far as that takes no more
// than half of the watches its user may have (fs.inotify.max_user_watches); what is changed later
// takes the place of what was not changed for the longest time. A watch is spent by its first event
// and put on again when the folder has been looked at, which is a few times a second at most: so a
// session that is written to all the time costs no more than that, and an idle home costs nothing.
// Sessions beyond the watches are looked at one after the other, some thousands a second.
//
// A change is told when the length is another one than was told before, or was written here. Loop
// thread; what touches the disk runs on the pool.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/files.h"
#include "base/notify.h"
#include "base/pool.h"
#include "session/transcripts.h"
#include "store/fs/inotify.h"

namespace reef::store {

class SessionFolders : public std::enable_shared_from_this<SessionFolders> {
 public:
  struct Needs {
    Executor loop;
    Files& files;
    Pool& pool;
    std::string folder;           // of all sessions
    std::size_t watches_max = 0;  // at most; 0: none, all are looked at in turn
    session::Transcripts::Hear hear;
  };
  explicit SessionFolders(Needs needs);

  // Runs until it is cancelled. `self` keeps it alive meanwhile.
  static Task<void> run(std::shared_ptr<SessionFolders> self);
  // Nothing is told from now on.
  void end();

  // While it exists, Reef itself changes the session: what is seen of it meanwhile is not told.
  class OwnChange {
   public:
    // Nothing happens when nobody watches.
    OwnChange(const std::weak_ptr<SessionFolders>& folders, const session::SessionId& id);
    ~OwnChange();
    OwnChange(OwnChange&&) = default;
    // The transcript is so long now, which need not be told.
    void made(std::uint64_t bytes);

   private:
    std::shared_ptr<SessionFolders> folders_;
    std::shared_ptr<struct SessionFolder> folder_;
  };

 private:
  using Folder = std::shared_ptr<struct SessionFolder>;
  struct Look;

  Task<void> list();
  Task<void> look_at_due();
  Task<void> wait();
  std::vector<Look> next_looks();
  void take(Look& look);
  void tell(const session::Heard& heard);
  void read_events();
  void take_event(const Inotify::Event& event);
  Folder find_or_make(const session::SessionId& id);
  // The folder is looked at next.
  void touch(const Folder& folder);
  void drop(const Folder& folder);
  void set_watch(const Folder& folder, int watch);
  void end_watch(const Folder& folder);
  // False when all watches are needed more.
  bool make_room();
  void watch_all();
  void park(const Folder& folder);
  void look_in_turn();

  Needs needs_;
  std::unique_ptr<Inotify> inotify_;  // null: there is none to be had
  int all_watch_ = -1;                // of the folder of all sessions
  bool ended_ = false;
  bool readable_ = false;    // the kernel has something to say
  bool list_ = true;         // what there is has to be listed
  bool everything_ = false;  // and looked at, also what is known
  std::uint64_t lists_ = 0;
  std::uint64_t rests_ = 0;
  std::unordered_map<std::string_view, Folder> folders_;  // by id
  std::unordered_map<int, Folder> watched_;
  std::deque<Folder> due_;        // to be looked at
  std::deque<Folder> oldest_;     // that got a watch, the earliest first
  std::deque<Folder> unwatched_;  // looked at in turn
  Notify stirred_;
};

}  // namespace reef::store
