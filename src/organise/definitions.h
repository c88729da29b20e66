// The three files of a home: statuses.toml, labels.toml, views.toml. They are read at the start and
// whenever somebody has edited one; a broken file is reported and its last good version stays in
// use. Operations change them one after the other and never overwrite a broken file. Loop thread
// only; the pool does what blocks.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/notify.h"
#include "base/pool.h"
#include "organise/filter.h"
#include "organise/labels.h"
#include "organise/statuses.h"
#include "organise/views.h"
#include "session/documents.h"

namespace reef::organise {

// The definitions at one moment; never changes.
struct Defined {
  Statuses statuses;
  Labels labels;
  Views views;
  std::vector<std::string> problems;  // the broken files, and where they are broken
};

// Makes a test of whether a filter holds for a session, at time `now` and by these definitions.
using RowTest = std::function<bool(const session::Row&)>;
Result<RowTest> row_test(std::string_view filter, std::shared_ptr<const Defined> defined,
                         TimePoint now);

class Definitions {
 public:
  Definitions(Executor loop, session::Documents& documents, Pool& pool);

  // Returns the definitions last read.
  std::shared_ptr<const Defined> known() const { return known_; }
  // False when labels.toml, as it is now, has no rules. For every message, so it is one look at one
  // file and no more.
  bool may_have_rules() const;
  // Looks whether a file was edited, reads it when it was.
  Task<std::shared_ptr<const Defined>> look();

  enum class Which : std::uint8_t { statuses, labels, views };
  // Turns the text of the file into its text after the change; runs on a pool thread.
  using Edit = std::function<Result<std::string>(std::string_view)>;
  // Durable when it returns. Fails with conflict when the file is broken.
  Task<Status> change(Which which, Edit edit);

 private:
  struct File {
    std::string name;
    bool was_read = false;
    std::optional<session::Version> seen;  // when it was read; none: there was none
    std::string problem;
  };
  struct Reading;

  bool is_stale(const File& file) const;
  Reading read(std::vector<File> files) const;
  Status edit_file(const File& file, Which which, const Edit& edit) const;
  Task<Status> change_unshielded(Which which, Edit edit);
  Task<Ok> look_again();

  session::Documents& documents_;
  Pool& pool_;
  std::vector<File> known_files_;  // indexed by Which
  std::shared_ptr<const Defined> known_;
  bool changing_ = false;
  bool looking_ = false;
  Notify turn_;
};

}  // namespace reef::organise
