// Where transcripts live, as bytes. Two implementations (store/fs, store/mem) pass one test-suite,
// tests/store/store_contract_test.cpp. Called on the loop thread; results come back there.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/task.h"
#include "session/ids.h"
#include "session/refresh.h"
#include "session/row.h"
#include "session/tail.h"

namespace reef {
class Helper;
}

namespace reef::session {

struct Stored {
  SessionId id;
  std::uint64_t bytes = 0;
};

// A session that stands whole in a folder outside the store: its transcript and what belongs to it.
struct Incoming {
  SessionId id;
  std::string folder;
};

struct Trashed {
  SessionId id;
  TimePoint since;
};

// A piece of a transcript.
struct Range {
  SessionId id;
  std::uint64_t from = 0;
  std::uint64_t size = 0;
};

class Store {
 public:
  virtual ~Store() = default;

  virtual Task<Result<std::vector<Stored>>> list() = 0;

  // Makes a session with this first content, whole lines, durable. conflict when the id is taken,
  // and then nothing is changed.
  virtual Task<Status> create(SessionId id, std::string bytes) = 0;

  // Moves finished folders in, all synced before the first is moved: a crash leaves a session that
  // is there or one that never was. conflict when an id is taken. Answers in the order asked.
  virtual Task<std::vector<Status>> take_in(std::vector<Incoming> sessions) = 0;

  // At most `size` bytes from `from` on, as they are; changes nothing.
  virtual Task<Result<std::string>> read(SessionId id, std::uint64_t from = 0,
                                         std::uint64_t size = UINT64_MAX) = 0;

  // Many pieces, each at most as long as asked; answers in the order asked.
  virtual Task<std::vector<Result<std::string>>> read_ranges(std::vector<Range> ranges) = 0;

  // As read_ranges; each piece is given to `use`, with its number, as soon as it has been read: on
  // several threads at once, in any order, and only for the time of the call. `meanwhile` is called
  // here before the first; `helper`, where there is one, reads some of those in memory.
  using UsePiece = std::function<void(std::size_t, const Result<std::string_view>&)>;
  virtual Task<void> read_each(std::vector<Range> ranges, UsePiece use,
                               std::function<void()> meanwhile, Helper* helper) = 0;

  // Prepares for appends and reads what a model needs: a torn last line is set aside, a last entry
  // without newline gets it.
  virtual Task<Result<Tail>> open(SessionId id) = 0;

  // Adds whole lines to a transcript that is `at` bytes long; durable when it returns. conflict
  // when it has another length by now. After any error the transcript is as before, or, where the
  // disk refused even that, is repaired by the next open().
  virtual Task<Status> append(SessionId id, std::uint64_t at, std::string bytes) = 0;

  // Rows for lists; torn last lines are mended on the way. Answers in the order asked.
  virtual Task<std::vector<Result<Row>>> refresh(std::vector<Refresh> requests) = 0;

  // Replaces a transcript that is still `at` bytes long; the old one is kept beside it, its name
  // ending in `kept_as`.
  virtual Task<Status> rewrite(SessionId id, std::uint64_t at, std::string bytes,
                               std::string kept_as) = 0;

  // Where another program finds the transcript; a name of our own where there is no file.
  virtual std::string path_of(const SessionId& id) const = 0;

  // Takes a session out of all lists, and back.
  virtual Task<Status> trash(SessionId id, TimePoint now) = 0;
  virtual Task<Status> restore(SessionId id) = 0;
  virtual Task<Result<std::vector<Trashed>>> trashed() = 0;
  // Removes a session from the trash for good. Interrupted, it is out of the trash all the same.
  virtual Task<Status> purge(SessionId id) = 0;
  // Bytes of everything a session has; 0 for one that is not there. Answers in the order asked.
  enum class Place : std::uint8_t { sessions, trash };
  virtual Task<std::vector<std::uint64_t>> measure(std::vector<SessionId> ids, Place place) = 0;

  // The catalog's bytes: derived, so appends need not be durable. Empty when there is none. `use`
  // is called on any thread, and may read on several; what it says is the answer.
  using UseSource = std::function<Status(const ByteSource&)>;
  virtual Task<Status> read_catalog(UseSource use) = 0;
  virtual Task<Status> append_catalog(std::string bytes) = 0;
  virtual Task<Status> replace_catalog(std::string bytes) = 0;
};

}  // namespace reef::session
