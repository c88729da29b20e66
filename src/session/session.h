// Table of contents of session/, and its heart: a Session is one transcript that can be appended
// to, Sessions is all of them. docs/session-engine.md tells how they work together.
//
//   ids.h         SessionId, EntryId, Key                 names, and what may be one
//   message.h     Message, Block, Usage                   what is said
//   entry.h       Header, Entry, Draft                    lines of a transcript
//   metadata.h    meta_fields, check_patch                what may be changed about a session
//   reader.h      read_transcript, Damage                 bytes to entries, whatever their state
//   transcript.h  Transcript                              the whole tree
//   context.h     build_context, for_model                what a model is given of a branch
//   tail.h        read_tail                               the same, reading backwards from the end
//   client_mark.h ClientMark                              what clients call their requests
//   decision.h    Waiting, decision_of                    what a person was asked to decide
//   row.h         Row, fold                               what lists know of a session
//   refresh.h     refresh_row                             a row that fell behind
//   query.h       Query, Listing                          filter, sort, page
//   check.h       check_transcript, repaired              what fsck does
//   catalog.h     read_catalog                            rows on disk
//   transcripts.h Transcripts                             where the bytes live
//   journal.h     Journal                                 where the catalog's bytes live
//   ownership.h   Ownership, Hold                         who may write to a home
//   documents.h   Documents                               all else that a home holds
//   file_names.h  file_name_from, file_type               what files of a session may be called
//   folders.h     Folders                                 where these files live
//   attachments.h Attachments                             files that are given to a session
//   usage.h       add_up_usage                            tokens and cost of many
//   session.h     Session, Sessions                       this file
//   rename.cpp                                            sessions follow an agent's new name
//
// All of it belongs to the loop thread. What changes something runs to its end even when the task
// that asked for it is cancelled.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "base/change_log.h"
#include "base/clock.h"
#include "base/notify.h"
#include "base/random.h"
#include "base/task_group.h"
#include "session/check.h"
#include "session/client_mark.h"
#include "session/folders.h"
#include "session/journal.h"
#include "session/query.h"
#include "session/transcript.h"
#include "session/transcripts.h"

namespace reef::session {

Error no_session(const SessionId& id);

class Session {
 public:
  // Called with the entries that became durable, and how many bytes they have.
  using OnAppend = std::function<void(Session&, const std::vector<Entry>&, std::uint64_t bytes)>;

  Session(Executor loop, Transcripts& transcripts, Clock& clock, Random& random, SessionId id,
          Tail tail, OnAppend on_append);

  const SessionId& id() const { return id_; }
  const Context& context() const { return context_; }
  const std::optional<EntryId>& leaf() const { return leaf_; }
  std::uint64_t bytes() const { return bytes_; }

  // The file was rewritten: it is read again before the next append.
  void distrust() { doubtful_ = true; }

  // Attaches entries one behind the other: the first to the leaf, or to `parent`, which must exist.
  // Returns the last. All are durable when it returns, in one write and one sync; on an error none
  // is there, in memory and on disk. Calls made during a sync share the next one, in the order of
  // the calls.
  Task<Result<EntryId>> append(std::vector<Draft> drafts,
                               std::optional<EntryId> parent = std::nullopt);
  Task<Result<EntryId>> append(Draft draft, std::optional<EntryId> parent = std::nullopt);

  // Entries made elsewhere; they keep their ids and parents.
  struct Foreign {
    std::vector<Entry> entries;
    std::optional<EntryId> leaf;  // the leaf when they were chosen
    bool keep_leaf = false;
    std::optional<Draft> then = {};  // attached to the last of them, or to the leaf that was kept
  };
  // Like append(), in one write. When the leaf is to be kept, or has changed since, a mark behind
  // the entries moves it back.
  struct Placed {
    EntryId leaf;
    bool kept = false;  // the leaf is not one of the entries
  };
  Task<Result<Placed>> append_foreign(Foreign foreign);

 private:
  struct Pending {
    std::vector<Draft> drafts;
    std::optional<EntryId> parent;
    std::optional<Foreign> foreign;  // instead of the drafts
    Placed placed = {};
    std::optional<Result<EntryId>> outcome = {};
  };

  Task<Result<EntryId>> wait_for(std::shared_ptr<Pending> mine);
  Task<void> flush();
  Task<Status> write(const std::vector<std::shared_ptr<Pending>>& batch,
                     std::vector<Entry>& entries);
  // Makes the pending drafts into entries after the current leaf.
  std::vector<Entry> place(const std::vector<std::shared_ptr<Pending>>& batch);
  // Returns whether the leaf was kept.
  bool place_foreign(const Foreign& foreign, std::optional<EntryId>& leaf,
                     std::vector<Entry>& entries);
  Task<Status> reload();
  // Gives a version 1 file ids and parents, as pi does; the old file is kept.
  Task<Status> upgrade();
  std::string lost_header_line() const;
  void adopt(Tail tail);

  Transcripts& transcripts_;
  Clock& clock_;
  Random& random_;
  SessionId id_;
  OnAppend on_append_;
  std::uint64_t bytes_ = 0;
  std::optional<EntryId> leaf_;
  Context context_;
  int version_ = Header::kVersion;
  bool doubtful_ = false;  // disk must be read again before the next append
  bool flushing_ = false;
  std::deque<std::shared_ptr<Pending>> queue_;
  Notify changed_;
};

class Sessions {
 public:
  struct Needs {
    // A fork takes along the files its branch refers to, if there are folders.
    Folders* folders = nullptr;
    // Called when a session came, grew, was changed or went; `rewritten` when its file was made
    // anew. Never called after stop().
    std::function<void(const SessionId&, bool rewritten)> on_change = {};
    // Tells what an agent that had this name at that time is called now, for sessions that come
    // back from the trash. Must return at once.
    std::function<std::string(const std::string& agent, TimePoint then)> name_now = {};
  };
  Sessions(Executor loop, Transcripts& transcripts, Journal& catalog, Clock& clock, Random& random,
           Needs needs);
  Sessions(Executor loop, Transcripts& transcripts, Journal& catalog, Clock& clock, Random& random)
      : Sessions(std::move(loop), transcripts, catalog, clock, random, Needs()) {}

  // Called at start: reads the catalog, and the sessions that changed since it was written.
  Task<Status> load();
  // From then on what other programs write, bring and take away is taken in without being asked
  // for. Called after load().
  Status watch();
  // Looks for all of that.
  Task<Status> rescan();
  // The same for one session.
  Task<void> update(SessionId id);
  // Called at the end: writes what was put off.
  Task<void> stop();

  // A limited list can be continued by its cursor. Its order stands still whatever changes
  // meanwhile, until some others have been started.
  Result<Page> list(const Query& query);
  const Row* find(const SessionId& id) const;
  std::size_t size() const { return rows_.size(); }
  // Calls `look` with every row, in no order; it must not change anything.
  void visit(const std::function<void(const Row&)>& look) const;
  // Returns the sessions where a decision waits.
  const std::set<SessionId>& waiting() const { return waiting_; }
  // Those with entries that clients named, by the keys they had; not all may be there, or have it,
  // any more. Empty: those without a key.
  std::vector<SessionId> marked(const std::string& key) const;
  // What changed, for readers that come back: the keys are ids. Whoever tells more of a session
  // rings its bell there.
  ChangeLog& changes() { return changes_; }
  // Called with what has just been made durable, and the length of the transcript with it; its row
  // knows of it already. At most one.
  using OnAppended =
      std::function<void(const SessionId&, const std::vector<Entry>&, std::uint64_t bytes)>;
  void set_on_appended(OnAppended on_appended) { on_appended_ = std::move(on_appended); }
  std::optional<SessionId> current(const Key& key) const;

  Task<Result<std::shared_ptr<Session>>> open(SessionId id);
  // Reads every entry; parsed on demand, for views of the tree.
  Task<Result<Transcript>> read(SessionId id);

  // What clients named in it, oldest first.
  Task<Result<std::vector<Marked>>> marks(SessionId id);

  // Drops sessions that nobody holds from memory, when they are many or large together.
  void trim_cache();

  struct New {
    std::optional<Key> key;  // bound to the session when given
    std::string agent, sender, cwd;
    std::vector<Draft> drafts;  // appended in the same write
    // Where its turns work unless a message says otherwise; `cwd` only tells where it was begun.
    std::string folder = {};
    std::string made_for = {};  // the request it was made for (client_mark.h)
  };
  Task<Result<std::shared_ptr<Session>>> create(New request);

  // A session written elsewhere: its folder is moved in, its row joins the others.
  struct Arrival {
    Row row;
    std::string folder;
  };
  // Returns the outcomes in the order of the arrivals; conflict when an id is taken.
  Task<std::vector<Status>> take_in(std::vector<Arrival> arrivals);
  Task<Result<Session::Placed>> append_foreign(SessionId id, Session::Foreign foreign);

  // Binds a key to the session from now on; by default the key it has, or else its pair's.
  Task<Result<Key>> resume(SessionId id, std::optional<Key> key);
  // Makes a new session with the branch up to `at` (the leaf when not given).
  Task<Result<SessionId>> fork(SessionId id, std::optional<EntryId> at, std::string made_for = {});
  // The next entry attaches to `entry`; survives a restart.
  Task<Status> rewind(SessionId id, EntryId entry);
  // Applies a client's merge patch to the metadata.
  Task<Status> patch(SessionId id, json::object patch);
  // The same for facts that clients cannot set; the caller is responsible for names and values.
  Task<Status> set_facts(SessionId id, json::object facts);
  // Sets a bookmark; an empty text removes it.
  Task<Status> label(SessionId id, EntryId entry, std::string text);
  // Drops the row of a session whose folder is gone from the disk.
  void drop_missing(const SessionId& id);
  Task<Status> trash(SessionId id);
  Task<Status> restore(SessionId id);

  struct Check {
    std::vector<Finding> findings;
    bool repaired = false;
  };
  // Looks at every byte of a session and, when asked to, repairs what it can.
  Task<Result<Check>> check(SessionId id, bool repair);

  // Returns after the next append to any session, or at the deadline.
  Task<void> wait_for_append(std::chrono::milliseconds patience);

  // Makes an agent's sessions and their keys follow its new name. On an error those that had
  // followed are taken back. `invalid` when a new key would not be valid.
  Task<Status> rename_agent(std::string from, std::string to);

  // For a small fact that comes often: it is written with others within half a second.
  void note(const SessionId& id, json::object patch);

 private:
  struct Cached {
    std::shared_ptr<Session> session;
    std::uint64_t used = 0;
  };

  Task<Result<std::shared_ptr<Session>>> open_unshielded(SessionId id);
  Task<Result<std::shared_ptr<Session>>> create_unshielded(New request);
  Task<Result<SessionId>> create_file(std::string lines, Header header, std::string& bytes);
  Task<Status> append_to(SessionId id, Draft draft, std::optional<EntryId> parent = std::nullopt);
  Task<Status> append_all_to(SessionId id, std::vector<Draft> drafts,
                             std::optional<EntryId> parent = std::nullopt);
  Task<Ok> undo_create(SessionId id);
  Task<Result<Check>> check_unshielded(SessionId id, bool repair);
  Task<std::vector<Status>> take_in_unshielded(std::vector<Arrival> arrivals);
  Task<Status> trash_unshielded(SessionId id);
  Task<Status> restore_unshielded(SessionId id);
  struct Move {
    SessionId id;
    json::object patch;
    json::object back;
    bool done = false;
  };
  Task<Status> rename_agent_unshielded(std::string from, std::string to,
                                       std::optional<SessionId> only = std::nullopt);
  Task<TimePoint> trashed_since(SessionId id);
  Task<void> follow(std::vector<Move>& moves, std::size_t& next, std::optional<Error>& failed);
  Task<void> refresh(std::vector<Refresh> requests);
  Task<void> look_at(std::vector<SessionId> ids);
  void hear(const Heard& heard);
  Task<void> take_heard();
  bool is_used(const SessionId& id) const;
  void on_append(Session& session, const std::vector<Entry>& entries, std::uint64_t bytes);
  void adopt(Row row);
  // Enters the key and the time of a row in rows_ that is new or was changed.
  void place(Row& row);
  std::int64_t next_binding(const Key& key) const;
  void forget(const SessionId& id);
  void mark_changed(const SessionId& id);
  void plan_flush();
  Task<void> flush_later();
  Task<Ok> flush();
  // The records of these sessions for the catalog.
  Task<std::string> records_of(std::vector<SessionId> ids);
  Session::OnAppend append_hook();

  Executor loop_;
  Transcripts& transcripts_;
  Journal& catalog_;
  Clock& clock_;
  Random& random_;
  const Needs needs_;
  std::unordered_map<SessionId, Row> rows_;
  std::unordered_map<std::string, SessionId> bindings_;  // key -> its current session
  std::unordered_map<SessionId, Cached> cache_;
  std::unordered_map<SessionId, std::shared_ptr<Notify>> opening_;
  std::set<SessionId> waiting_;
  std::unordered_map<std::string, std::set<SessionId>> marked_;  // by key
  std::uint64_t uses_ = 0;
  std::uint64_t untrimmed_bytes_ = 0;  // appended since the cache was last looked at

  std::set<SessionId> changed_rows_;  // not yet in the catalog; those missing in rows_ are gone
  std::unordered_map<SessionId, json::object> notes_;
  std::vector<Listing::Dated> times_;          // of every row, in no order; Row::slot leads here
  std::map<std::uint64_t, Listing> listings_;  // by number; the oldest is given up first
  std::uint64_t last_listing_ = 0;
  std::size_t catalog_records_ = 0;
  bool catalog_damaged_ = false;
  std::unique_ptr<Transcripts::Watch> watch_;
  std::set<SessionId> heard_;  // of which another program changed something
  bool heard_of_all_ = false;
  bool hearing_ = false;
  bool flush_planned_ = false;
  bool stopping_ = false;
  OnAppended on_appended_;
  ChangeLog changes_;
  Notify appended_;
  TaskGroup tasks_;
};

}  // namespace reef::session
