// What a person decides: whether a tool may be called, what an agent asked, what becomes of a plan
// or of a turn that failed. Each is an object of its session with one answer and a history, durable
// in the transcript before anybody is told of it, so it can be listed and answered after a restart
// (docs/permissions.md). Loop thread only.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/notify.h"
#include "base/task_group.h"
#include "runtime/questions.h"
#include "session/client_mark.h"
#include "session/session.h"

namespace reef::runtime {

struct Decision {
  enum class State : std::uint8_t { pending, answered, closed };
  std::string id;
  State state = State::pending;
  std::string agent, sender, key, session, call_id;
  Ask ask;
  TimePoint asked;
  std::optional<TimePoint> expires;
  // Once it is settled.
  std::string answer;    // as it was written
  std::string by, from;  // who answered, and over which transport
  std::string reason;    // why it was closed
  std::optional<TimePoint> settled;
  std::optional<session::ClientMark> client;  // what its answer was called

  std::string plan;                     // the name of the plan that is asked about
  std::string cwd;                      // where the turn works that asked
  std::vector<std::string> only_tools;  // of that turn; empty: all
};
std::string_view name_of(Decision::State state);
// "user answered 'yes' over unix at ...", "it was closed at ...: ..."
std::string told_of(const Decision& decision);

// All of a session, in the order asked. Pure.
std::vector<Decision> decisions_in(const session::Transcript& transcript,
                                   const session::SessionId& id);
// Why nobody can answer it any more although nothing says so yet; empty: it can be answered. Pure.
std::string why_over(const session::Transcript& transcript, const Decision& decision,
                     TimePoint now);

class Decisions {
 public:
  static constexpr std::size_t kPageMax = 100;

  // The decisions need these of the runtime.
  struct Needs {
    // Whether a turn of this session runs or waits.
    std::function<bool(const session::SessionId&)> busy;
    // Why its turn cannot go on.
    std::function<Status(const Decision&)> may_resume;
    // Goes on with the turn its transcript ends in; ends when that has begun, or is over.
    std::function<Status(const Decision&)> resume;
  };
  Decisions(Executor loop, session::Sessions& sessions, Clock& clock, Questions& questions,
            Needs needs);

  // A new id in this session.
  std::string new_id(const session::SessionId& session);
  // Durable when it returns.
  Task<Status> ask(std::shared_ptr<session::Session> session, Decision decision);
  // The same as an entry, to be written together with others; told() follows once it is durable.
  static session::Draft asked_draft(const Decision& decision);
  void told(const Decision& decision);
  // For those that still wait; failures are logged, and found out when somebody answers.
  Task<void> close(session::SessionId session, std::vector<std::string> ids, std::string reason);
  // All that wait in a session, as they are once they are closed: to be written in front of what
  // ends them, and told() then.
  std::vector<Decision> closing(const session::SessionId& session, std::string_view reason) const;
  static session::Draft closed_draft(const Decision& decision);

  struct Query {
    std::string session, agent, sender;
    bool history = false;
    std::set<Ask::Kind> kinds = {};  // empty: all
    std::size_t limit = kPageMax;
    std::string cursor = {};
  };
  struct Page {
    std::vector<Decision> decisions;
    std::string cursor;
    std::size_t total = 0;
  };
  // Returns the waiting decisions, newest first; with `history` all of one session. Decisions that
  // are over are closed on the way.
  Task<Result<Page>> list(Query query);
  // not_found when there is none.
  Task<Result<Decision>> find(std::string id);
  // The same as lists show it: nothing of one that is gone, or that is over and not closed yet.
  Task<Result<std::optional<Decision>>> shown(std::string id);
  // Decisions of the session whose time is up although nothing says so yet.
  std::vector<std::string> expired_in(const session::SessionId& session) const;
  // Closes what is over in the session. Returns those that could not be closed; nullopt while
  // something runs there.
  Task<std::optional<std::vector<std::string>>> close_over(session::SessionId session);

  struct Reply {
    std::string id, content, by, from;
    std::optional<session::ClientMark> client = {};
  };
  // The answer is durable when this returns, and what waited goes on. conflict when it is settled
  // already: the error says who answered what; of the same client's retry it is no error.
  Task<Result<Decision>> answer(Reply reply);
  // The id of the oldest question or permission of the session that waits.
  std::optional<std::string> oldest(const session::SessionId& session) const;

  // Told of each that was asked, answered or closed, once that is durable; must return at once.
  using OnChange = std::function<void(const Decision&)>;
  void on_change(OnChange told) { on_change_.push_back(std::move(told)); }

  // Shutdown: what was put off is written.
  Task<void> stop();

 private:
  Task<Result<Decision>> answer_unshielded(Reply reply);
  Task<Result<Decision>> settle(Decision decision, Reply reply);
  Task<Result<std::optional<Decision>>> wait_until_live(const Decision& decision);
  Task<Status> append(session::SessionId session, std::vector<session::Draft> drafts);
  // Both keep what they read, of few sessions.
  struct Known {
    std::uint64_t bytes = 0;
    std::vector<Decision> decisions;
    std::map<std::string, std::string> over;  // of those that wait: why they cannot be answered
    std::uint64_t used = 0;
  };
  Task<Result<const Known*>> look(session::SessionId id);
  void trim();

  Executor loop_;
  session::Sessions& sessions_;
  Clock& clock_;
  Questions& questions_;
  Needs needs_;
  std::vector<OnChange> on_change_;
  std::set<std::string> answering_;
  Notify changed_;
  std::map<std::string, Known> known_;
  std::uint64_t uses_ = 0;
  std::uint64_t asked_ = 0;
  TaskGroup tasks_;
};

}  // namespace reef::runtime
