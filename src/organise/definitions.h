// The three files of a home: statuses.toml, labels.toml, views.toml. Read at the start and whenever
// somebody has edited one; a broken one is reported and the last good one stays in use. Changes by
// operation are made one after the other, never over a broken file. Loop thread only; what blocks
// is done by the pool.
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

// What holds at one moment; never changes.
struct Defined {
  Statuses statuses;
  Labels labels;
  Views views;
  std::vector<std::string> problems;  // files that are broken, and where
};

// Which sessions a filter holds for, at `now` and as things are defined.
using RowTest = std::function<bool(const session::Row&)>;
Result<RowTest> row_test(std::string_view filter, std::shared_ptr<const Defined> defined,
                         TimePoint now);

class Definitions {
 public:
  Definitions(Executor loop, session::Documents& documents, Pool& pool);

  // What was last read.
  std::shared_ptr<const Defined> known() const { return known_; }
  // Looks whether a file was edited, reads it when it was.
  Task<std::shared_ptr<const Defined>> look();

  enum class Which : std::uint8_t { statuses, labels, views };
  // From the text of the file to its text after the change; runs on a pool thread.
  using Edit = std::function<Result<std::string>(std::string_view)>;
  // Durable when it returns. conflict when the file is broken.
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
  std::vector<File> known_files_;  // by Which
  std::shared_ptr<const Defined> known_;
  bool changing_ = false;
  bool looking_ = false;
  Notify turn_;
};

}  // namespace reef::organise
