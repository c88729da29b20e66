// Changes of a session's status, labels and other metadata, checked against the definitions: a
// status must exist, a label must be defined and its value must have the label's type. Values
// already in a transcript are kept even if they are invalid. Loop thread only.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/notify.h"
#include "base/pool.h"
#include "base/task_group.h"
#include "organise/definitions.h"
#include "session/session.h"

namespace reef::organise {

struct Change {
  json::object patch;                      // RFC 7396, applied to the metadata
  std::vector<std::string> add_labels;     // label entries
  std::vector<std::string> remove_labels;  // label entries; an id alone removes all its values
};

class Changes {
 public:
  Changes(Executor loop, session::Sessions& sessions, Definitions& definitions, Pool& pool);

  // Checks the change for any session; `row` is a session that may have invalid values already.
  static Status check(const Change& change, const Defined& defined, const session::Row* row);

  enum class Same : std::uint8_t {
    write,  // write to the transcript even if nothing changes
    skip,   // write nothing if nothing changes
  };
  // Durable when it returns; false when there was nothing to write.
  Task<Result<bool>> apply(session::SessionId id, Change change, Same same);

  // Runs the label rules on a user's message, in the background.
  void take_words(session::SessionId id, std::string words);
  // Waits for what take_words began.
  Task<void> stop();

 private:
  Task<Result<bool>> apply_unshielded(session::SessionId id, Change change, Same same);
  Task<void> label_by_rules(session::SessionId id, std::string words);

  session::Sessions& sessions_;
  Definitions& definitions_;
  Pool& pool_;
  // Sessions whose labels are being read, changed and written; one change at a time for each.
  std::set<session::SessionId> changing_labels_;
  Notify turn_;
  std::size_t waiting_bytes_ = 0;
  TaskGroup tasks_;
};

}  // namespace reef::organise
