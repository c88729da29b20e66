// Where transcripts live, as bytes. Two implementations (store/fs, store/mem) pass one test-suite,
// tests/store/store_contract_test.cpp. Called on the loop thread; results come back there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/task.h"
#include "session/ids.h"

namespace reef::session {

class Store {
 public:
  virtual ~Store() = default;

  virtual Task<Result<std::vector<SessionId>>> list() = 0;

  // Makes a session with this first content, whole lines, durable. conflict when the id is taken,
  // and then nothing is changed.
  virtual Task<Status> create(SessionId id, std::string bytes) = 0;

  // The bytes as they are; changes nothing.
  virtual Task<Result<std::string>> read(SessionId id) = 0;

  // Prepares for appends and returns the bytes: a torn last line is set aside, a last entry without
  // newline gets it.
  virtual Task<Result<std::string>> open(SessionId id) = 0;

  // Adds whole lines to a transcript that is `at` bytes long; durable when it returns. conflict
  // when it has another length by now. After any error the transcript is as before, or, where the
  // disk refused even that, is repaired by the next open().
  virtual Task<Status> append(SessionId id, std::uint64_t at, std::string bytes) = 0;
};

}  // namespace reef::session
