// The messages clients named, of the conversations that were spoken in lately: which turn answers
// each, or which session keeps it. Read from the transcripts, so a restart forgets none. Loop
// thread only.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/notify.h"
#include "base/result.h"
#include "base/task.h"
#include "session/client_mark.h"
#include "session/session.h"

namespace reef::runtime {

class Run;

class Sent {
 public:
  // Names older than this may have been forgotten, and so may all but the newest of a conversation.
  static constexpr std::chrono::hours kAgeMax{24 * 30};
  static constexpr std::size_t kNamesMax = 10'000;

  Sent(Executor loop, session::Sessions& sessions, Clock& clock)
      : sessions_(sessions), clock_(clock), changed_(std::move(loop)) {}

  // Before look(): what the transcripts of this conversation say. A transcript that cannot be read
  // is an error: what was sent could be sent twice.
  Task<Status> load(session::Key key);

  struct Known {
    std::shared_ptr<Run> run;                   // that answers it, while it lives
    std::optional<session::SessionId> session;  // that keeps it
    bool unanswered = false;                    // who sent it was told that nothing comes of it
  };
  // nullopt: nobody sent it. conflict when the name stands for something else.
  Result<std::optional<Known>> look(const session::Key& key, const session::ClientMark& mark) const;
  // A run answers it from now on.
  void claim(const session::Key& key, const session::ClientMark& mark, std::shared_ptr<Run> run);
  // It is durable in this session.
  void kept(const session::Key& key, const session::ClientMark& mark,
            const session::SessionId& session, bool unanswered = false);
  // The run is over: what was not kept was never sent.
  void over(const session::Key& key, const session::ClientMark& mark);

 private:
  struct Name {
    std::string sum;
    std::weak_ptr<Run> run = {};
    std::optional<session::SessionId> session = {};
    bool unanswered = false;
    std::uint64_t number = 0;
  };
  struct Conversation {
    std::set<session::SessionId> read;
    std::map<std::pair<std::string, std::string>, Name> names;  // by sender and id
    // Sessions that a request made, and which (session::made_for).
    std::vector<std::pair<session::SessionId, std::string>> made;
    std::uint64_t used = 0;
    bool loading = false;
  };
  Task<Status> read_into(session::Key key, std::vector<session::SessionId> unread);
  static std::pair<std::string, std::string> name_of(const session::ClientMark& mark) {
    return {mark.sender, mark.id};
  }
  Name& put(const session::Key& key, const session::ClientMark& mark);
  void trim(const session::Key& but);

  session::Sessions& sessions_;
  Clock& clock_;
  std::map<session::Key, Conversation> conversations_;
  std::uint64_t uses_ = 0;
  std::uint64_t names_ = 0;
  Notify changed_;
};

}  // namespace reef::runtime
