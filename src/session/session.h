// Table of contents of session/, and its heart: a Session is one transcript that can be appended
// to, Sessions is all of them.
//
//   ids.h         SessionId, EntryId, Key                 names, and what may be one
//   message.h     Message, Block, Usage                   what is said
//   entry.h       Header, Entry, Draft                    lines of a transcript
//   reader.h      read_transcript, Damage                 bytes to entries, whatever their state
//   transcript.h  Transcript, build_context               the tree, and what a model is given of it
//   store.h       Store                                   where the bytes live
//   session.h     Session, Sessions                       this file
//
// All of it belongs to the loop thread. What changes something runs to its end even when the task
// that asked for it is cancelled.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/notify.h"
#include "base/random.h"
#include "session/store.h"
#include "session/transcript.h"

namespace reef::session {

// One line of a list of sessions; derived from the transcript.
struct Row {
  SessionId id;
  std::string key, agent, sender;
  std::string title;
  std::string preview;  // start of the first user message
  std::uint64_t message_count = 0;
  std::uint64_t bytes = 0;
  TimePoint created, updated;
};
Row make_row(const SessionId& id, const Transcript& transcript, std::uint64_t bytes);

class Session {
 public:
  Session(Executor loop, Store& store, Clock& clock, Random& random, SessionId id,
          std::string bytes);

  const SessionId& id() const { return id_; }
  const Transcript& transcript() const { return transcript_; }
  std::uint64_t bytes() const { return bytes_; }

  // Attaches to the leaf. Durable when it returns; on an error nothing has changed, in memory and
  // on disk. Calls made while another is syncing share the next sync, in the order of the calls.
  Task<Result<EntryId>> append(Draft draft);

 private:
  struct Pending {
    Draft draft;
    std::optional<Result<EntryId>> outcome;
  };

  Task<Result<EntryId>> wait_for(std::shared_ptr<Pending> mine);
  Task<void> flush();
  // Makes the pending drafts into entries after the current leaf.
  std::vector<Entry> place(const std::vector<std::shared_ptr<Pending>>& batch);
  Task<Status> reload();
  EntryId fresh_id();

  Store& store_;
  Clock& clock_;
  Random& random_;
  SessionId id_;
  Transcript transcript_;
  std::uint64_t bytes_ = 0;
  bool doubtful_ = false;  // an append failed: disk must be read again before the next
  bool flushing_ = false;
  std::deque<std::shared_ptr<Pending>> queue_;
  Notify changed_;
};

class Sessions {
 public:
  Sessions(Executor loop, Store& store, Clock& clock, Random& random);

  // Start-up: reads what the lists and the keys need.
  Task<Status> load();

  // Newest first.
  std::vector<Row> list() const;
  std::optional<Row> find(const SessionId& id) const;
  std::size_t size() const { return rows_.size(); }
  std::optional<SessionId> current(const Key& key) const;

  Task<Result<std::shared_ptr<Session>>> open(SessionId id);

  struct New {
    Key key;
    std::string agent, sender, cwd;
    std::vector<Draft> drafts;  // appended in the same write
  };
  // Makes a session and binds the key to it.
  Task<Result<std::shared_ptr<Session>>> create(New request);

  // After an append: brings the row up to date and lets go of sessions nobody uses.
  void touch(const Session& session);

 private:
  struct Cached {
    std::shared_ptr<Session> session;
    std::uint64_t used = 0;
  };

  Task<Result<std::shared_ptr<Session>>> open_unshielded(SessionId id);
  Task<Result<std::shared_ptr<Session>>> create_unshielded(New request);
  void adopt(const SessionId& id, const Transcript& transcript, std::uint64_t bytes);
  void trim_cache();

  Executor loop_;
  Store& store_;
  Clock& clock_;
  Random& random_;
  std::map<SessionId, Row> rows_;
  std::unordered_map<std::string, SessionId> bindings_;  // key -> its current session
  std::unordered_map<SessionId, Cached> cache_;
  std::unordered_map<SessionId, std::weak_ptr<Notify>> opening_;
  std::uint64_t uses_ = 0;
};

}  // namespace reef::session
