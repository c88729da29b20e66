// What requests that clients named were answered with, so that the same request sent again, also
// after a restart, is done once (docs/protocol.md). A journal of its own, appended to after the
// change is made. What a crash between the two does is up to each operation. Loop thread only.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/notify.h"
#include "base/result.h"
#include "protocol/protocol.h"
#include "session/client_mark.h"
#include "session/journal.h"

namespace reef::server {

class Ledger {
 public:
  // The bounds of what is remembered; the oldest answers are forgotten first.
  static constexpr std::size_t kAnswersMax = 10'000;
  static constexpr std::size_t kBytesMax = 16U << 20;
  static constexpr std::chrono::hours kAgeMax{24 * 30};
  // The bound of one request; only the last message of a longer answer is kept.
  static constexpr std::size_t kAnswerBytesMax = 32U << 10;

  // `answers` must be durable, and outlive the ledger.
  Ledger(Executor loop, session::Journal& answers, Clock& clock);
  ~Ledger();

  struct Entry {
    session::ClientMark mark;
    std::vector<std::string> messages;  // encoded ServerMessages, in their order
    TimePoint at;
  };
  // Reads the journal, once. Nothing can be looked up when it cannot be read.
  Task<Status> load();
  // nullptr: nothing is known. conflict when the name stands for another request.
  Result<const Entry*> find(const session::ClientMark& mark) const;
  // Known from now on, durable when it returns. A disk that does not take it is no error of the
  // request, whose change is made: it is logged, and known until the restart.
  Task<void> keep(session::ClientMark mark, std::vector<std::string> messages);

  // One request of a name at a time. False when another is under way: wait_for_end() then.
  bool begin(const session::ClientMark& mark);
  void end(const session::ClientMark& mark);
  Task<void> wait_for_end() { return ended_.wait(); }

 private:
  using Name = std::pair<std::string, std::string>;
  static Name name_of(const session::ClientMark& mark) { return {mark.sender, mark.id}; }
  void take(Entry entry);
  void forget_old();
  Task<void> flush();

  session::Journal& answers_;
  Clock& clock_;
  std::map<Name, Entry> entries_;
  std::map<std::pair<TimePoint, Name>, std::size_t> by_age_;  // and their bytes
  std::map<Name, std::string> under_way_;                     // and what was asked for
  std::size_t bytes_ = 0;
  std::size_t lines_ = 0;  // of the journal
  bool loaded_ = false;
  bool doubtful_ = false;  // the journal is written anew next
  bool busy_ = false;      // somebody reads or writes it
  std::string unwritten_;
  std::uint64_t wanted_ = 0, written_ = 0;
  Notify changed_;
  Notify ended_;
};

// The answer of `make`, or the one that was given to the same request before.
protocol::Answer answer_once(Ledger& ledger, session::ClientMark mark, bool single,
                             std::function<protocol::Answer()> make);

}  // namespace reef::server
