// The questions of all conversations that wait for an answer. They outlive the client that was
// shown them: whoever connects next can list and answer them. Loop thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/notify.h"
#include "base/result.h"
#include "base/task.h"
#include "runtime/question.h"
#include "session/ids.h"

namespace reef::runtime {

class Questions {
 public:
  Questions(Executor loop, Clock& clock);
  ~Questions();

  struct Origin {
    session::Key key;
    std::string agent, sender;
    session::SessionId session;
    std::string call_id;
  };
  struct Pending {
    std::string id;
    Origin origin;
    Ask ask;
    TimePoint asked_at;
    std::optional<TimePoint> expires_at;
  };

  // Shows the question and waits for its answer, at most for `patience` (0: no limit): timeout when
  // nobody answered in time, busy when too many wait. It is pending until this returns or is
  // cancelled, and no longer.
  // `id`: what it is known by already; empty: it gets a new one.
  using Show = std::function<void(const Pending&)>;
  Task<Result<std::vector<UserAnswer>>> put(Origin origin, Ask ask,
                                            std::chrono::milliseconds patience, Show show,
                                            std::string id = {});
  // nullptr when it does not wait; valid until the next suspension.
  const Pending* find(std::string_view id) const;
  // While its answer is on the way to the disk its time does not run out.
  void hold(std::string_view id, bool held);
  // Returns after the next change of what waits, or at the deadline; spuriously too.
  Task<void> wait_for_change(Moment deadline);

  // Oldest first; valid until the next suspension.
  std::vector<const Pending*> list() const;
  // not_found when the conversation has no such question, or there is none; invalid when the answer
  // is empty.
  Status answer(const std::string& id, std::string_view content);
  Status answer_oldest(const session::Key& key, std::string_view content);
  // The client that was to show the question cannot; the asker is told why. not_found as above.
  Status decline(const std::string& id, std::string_view why);

 private:
  struct Entry;
  Entry* entry_of(std::string_view id) const;
  static Status settle(Entry& entry, std::string_view content);

  Executor loop_;
  Clock& clock_;
  std::string boot_;  // part of every id: ids of an earlier daemon mean nothing here
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, std::shared_ptr<Entry>> entries_;  // in the order asked
  Notify changed_;
};

}  // namespace reef::runtime
