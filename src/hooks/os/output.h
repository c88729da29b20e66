// What a command says, of any length: the beginning and the end for the model, all of it in the
// session's long_responses/ when that is more than it should be given. It is there when the command
// has ended, not before. Loop thread; the file work runs on the pool.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "base/clock.h"
#include "base/pool.h"
#include "session/documents.h"
#include "session/ids.h"

namespace reef::hooks::os {

class Output {
 public:
  static constexpr std::uint64_t kKeptBytesMax = 64U << 20;

  // Where it is kept: in the session's folders, which the agent's tools find at `folder`, as
  // `name`.txt. The documents must outlive the pool's work.
  struct Place {
    session::Documents& documents;
    session::SessionId session;
    std::string folder, name;
  };
  Output(Pool& pool, Place place, std::size_t shown_bytes);
  Output(Output&&) = default;
  ~Output();

  Task<void> take(std::string bytes);

  struct Shown {
    std::string text;  // valid UTF-8
    std::string path;  // empty when all is shown, or when the file could not be written
  };
  Task<Shown> finish();

 private:
  Task<void> keep(std::string bytes);
  Task<void> end_kept();

  Pool& pool_;
  Place place_;
  std::size_t shown_bytes_;
  std::string head_, tail_;
  std::uint64_t total_ = 0, kept_ = 0;
  std::string path_, problem_;
  std::unique_ptr<session::NewDocument> kept_document_;
  bool opened_ = false;
};

// Passes output to whoever reads along: whole characters, much at first and then a little each
// second.
class Progress {
 public:
  explicit Progress(std::function<void(std::string)> tell);
  void take(std::string_view bytes, Moment now);

 private:
  std::function<void(std::string)> tell_;
  std::string cut_;  // the beginning of a character that is not whole
  double room_;
  Moment last_ = {};
  bool left_out_ = false;
};

}  // namespace reef::hooks::os
