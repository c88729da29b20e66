// Sessions of pi: single files, session directories and the whole agent directory, versions 1 to 3,
// and a writer of the same. docs/formats/transcript.md describes the format, which is also ours.
// Any thread.
#pragma once

#include <memory>
#include <string>

#include "base/files.h"
#include "exchange/exchange.h"

namespace reef::exchange {

// `path` is a transcript, or a folder with some in it or in its folders.
Status read_pi(Files& files, const std::string& path, Intake& intake);
// Whether it looks like pi's: a transcript, or a folder with some or with those of a project.
bool is_pi(Files& files, const std::string& path);

// Reads one transcript in pi's format, whoever wrote it. Id, times, folder and origin are taken
// from the file where `head` leaves them empty; the origin is then "pi:<id>".
Status read_pi_file(Files& files, const std::string& file, Head head, Intake& intake);

// Reads lines that are entries in pi's format, wherever they are kept, and gives them to the
// intake. Damaged lines are repaired as the format's rules say. One object for each session.
class PiEntries {
 public:
  // `path` names the source in problems.
  PiEntries(Intake& intake, std::string path, int version, TimePoint created);
  ~PiEntries();

  Status line(std::string_view text, std::uint64_t number, bool ended);
  Status object(json::object body, std::string_view text, std::uint64_t number);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The uuid of "<time>_<uuid>.jsonl", else the whole name without its ending.
std::string pi_id_of(std::string_view path);

// Writes --<cwd>--/<time>_<id>.jsonl, with the session's files in a folder beside it.
std::unique_ptr<Writer> pi_writer(Outlet& outlet);

}  // namespace reef::exchange
