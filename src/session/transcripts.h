// Where transcripts live, as bytes. Two implementations (store/fs, store/mem) pass one test-suite,
// tests/store/transcripts_contract_test.cpp. Called on the loop thread; results come back there.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
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

// A whole session in a folder outside the store: its transcript and its files.
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

// What is heard of a transcript that another program changed.
struct Heard {
  std::optional<SessionId> id;  // nullopt: it cannot be said which, so all are to be looked at
  std::uint64_t bytes = 0;      // how long it is now; 0: it is gone, or empty
};

class Transcripts {
 public:
  virtual ~Transcripts() = default;

  virtual Task<Result<std::vector<Stored>>> list() = 0;

  // Makes a session with this first content of whole lines; durable. conflict when the id is taken,
  // and then nothing is changed.
  virtual Task<Status> create(SessionId id, std::string bytes) = 0;

  // Moves finished folders in. All are synced before the first is moved, so after a crash each
  // session is there or never was. conflict when an id is taken. Returns the outcomes in the order
  // asked.
  virtual Task<std::vector<Status>> take_in(std::vector<Incoming> sessions) = 0;

  // Returns at most `size` bytes from `from` on; changes nothing.
  virtual Task<Result<std::string>> read(SessionId id, std::uint64_t from = 0,
                                         std::uint64_t size = UINT64_MAX) = 0;

  // Reads many pieces, each at most as long as asked; returns them in the order asked.
  virtual Task<std::vector<Result<std::string>>> read_ranges(std::vector<Range> ranges) = 0;

  // Like read_ranges, but each piece is given to `use`, with its number, as soon as it has been
  // read: on several threads at once, in any order, and only for the time of the call. `meanwhile`
  // is called here before the first; `helper`, if any, reads some of those that are in memory.
  using UsePiece = std::function<void(std::size_t, const Result<std::string_view>&)>;
  virtual Task<void> read_each(std::vector<Range> ranges, UsePiece use,
                               std::function<void()> meanwhile, Helper* helper) = 0;

  // Prepares for appends and reads what a model needs: a torn last line is set aside, a last entry
  // without a newline gets one.
  virtual Task<Result<Tail>> open(SessionId id) = 0;

  // Adds whole lines to a transcript that is `at` bytes long; durable when it returns. conflict
  // when it has another length by now. After any error the transcript is as before; where the disk
  // refused even that, the next open() repairs it.
  virtual Task<Status> append(SessionId id, std::uint64_t at, std::string bytes) = 0;

  // Returns rows for lists, in the order asked; those asked to be mended get whole last lines.
  // busy: there is no whole line yet.
  virtual Task<std::vector<Result<Row>>> refresh(std::vector<Refresh> requests) = 0;

  // Replaces a transcript that is still `at` bytes long; the old one is kept beside it under a name
  // that ends in `kept_as`.
  virtual Task<Status> rewrite(SessionId id, std::uint64_t at, std::string bytes,
                               std::string kept_as) = 0;

  // The path at which other programs find the transcript; a name of our own when it is no file.
  virtual std::string path_of(const SessionId& id) const = 0;

  // Takes a session out of all lists, and back.
  virtual Task<Status> trash(SessionId id, TimePoint now) = 0;
  virtual Task<Status> restore(SessionId id) = 0;
  virtual Task<Result<std::vector<Trashed>>> trashed() = 0;
  // Removes a session from the trash for good. Even an interrupted purge takes it out.
  virtual Task<Status> purge(SessionId id) = 0;
  // Returns the bytes of everything a session has, in the order asked; 0 when it is not there.
  enum class Place : std::uint8_t { sessions, trash };
  virtual Task<std::vector<std::uint64_t>> measure(std::vector<SessionId> ids, Place place) = 0;
  // Like read(), for a session in the trash.
  virtual Task<Result<std::string>> read_trashed(SessionId id, std::uint64_t from,
                                                 std::uint64_t size) = 0;

  // Ends what was begun when destroyed, on the loop.
  class Watch {
   public:
    virtual ~Watch() = default;
  };
  // Calls back on the loop, unasked, when another program has brought a session, appended to one or
  // taken one away; store/fs says how soon. Begins with all sessions there are, so that nothing is
  // missed between a list and the watch. Appends made here are not told; other changes made here
  // may be. There is one watch at a time.
  using Hear = std::function<void(const Heard&)>;
  virtual Result<std::unique_ptr<Watch>> watch(Executor loop, Hear hear) = 0;
};

}  // namespace reef::session
