// Bytes that only grow, or are replaced as a whole: the records of the catalog, the answers of the
// ledger. Two implementations (store/fs, store/mem) pass one test-suite,
// tests/store/journal_contract_test.cpp. Called on the loop thread, one call at a time; results
// come back there.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "base/task.h"
#include "session/tail.h"

namespace reef::session {

class Journal {
 public:
  virtual ~Journal() = default;

  // The source has no bytes when there is no journal. `use` is called on any thread, and may read
  // on several; its status is returned.
  using Use = std::function<Status(const ByteSource&)>;
  virtual Task<Status> read(Use use) = 0;

  // After an error the bytes are as before; a disk that refuses even that leaves a part of the new
  // ones at the end. Whether they are durable when it returns is decided where the journal is made:
  // what can be derived from elsewhere need not be.
  virtual Task<Status> append(std::string bytes) = 0;

  // Readers and crashes find the old bytes or the new ones, and after an error the old ones.
  virtual Task<Status> replace(std::string bytes) = 0;
};

}  // namespace reef::session
