// What is set on sessions, held against the definitions: a status must exist, a label must be
// defined and its value of its type. What a transcript says already is kept whatever it is. Loop
// thread only.
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
  json::object patch;                      // RFC 7396, on the metadata
  std::vector<std::string> add_labels;     // entries
  std::vector<std::string> remove_labels;  // entries; an id alone takes all its values
};

class Changes {
 public:
  Changes(Executor loop, session::Sessions& sessions, Definitions& definitions, Pool& pool);

  // Whether it could be made on any session; `row` is one that may have odd values already.
  static Status check(const Change& change, const Defined& defined, const session::Row* row);

  enum class Same : std::uint8_t {
    write,  // the client's word stands in the transcript whatever was there
    skip,   // nothing is written when nothing would change
  };
  // Durable when it returns; false when there was nothing to write.
  Task<Result<bool>> apply(session::SessionId id, Change change, Same same);

  // Runs the label rules on what a user said, in the background.
  void take_words(session::SessionId id, std::string words);
  // Lets what take_words began end.
  Task<void> stop();

 private:
  Task<Result<bool>> apply_unshielded(session::SessionId id, Change change, Same same);
  Task<void> label_by_rules(session::SessionId id, std::string words);

  session::Sessions& sessions_;
  Definitions& definitions_;
  Pool& pool_;
  // Those whose labels are being read, changed and written: one at a time each.
  std::set<session::SessionId> changing_labels_;
  Notify turn_;
  std::size_t waiting_bytes_ = 0;
  TaskGroup tasks_;
};

}  // namespace reef::organise
