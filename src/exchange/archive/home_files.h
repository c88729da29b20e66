// Reads the files of a home that cannot be derived from others, one after the other, while a daemon
// goes on writing to them: the content of a backup. One thread at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/result.h"

namespace reef::exchange {

// Whether a backup takes something that lies directly in a home. It leaves out what is derived,
// belongs to a running daemon, is half written, or is a login.
bool is_kept(std::string_view name);
// The session a path belongs to, as sessions/ID or trash/ID; empty when it belongs to none.
std::string session_of(std::string_view path);

class HomeFiles {
 public:
  explicit HomeFiles(std::string home);

  struct Piece {
    std::string path;  // not empty: a file begins; relative to the home
    std::uint64_t size = 0;
    std::int64_t modified = 0;  // Unix seconds
    bool executable = false;
    std::string data;
    bool ends = false;
  };
  // nullopt after the last one. A transcript is cut after its last whole line: it only grows, so
  // this is the session as it was a moment ago.
  Result<std::optional<Piece>> next(std::size_t bytes_max);

  // Files that exist but could not be read, with the reason.
  const std::vector<std::string>& problems() const { return problems_; }
  std::uint64_t sessions() const { return sessions_; }

 private:
  Status visit(const std::string& path);
  void visit_folder(const std::string& path);
  void visit_sessions(const std::string& top);
  Status open(const std::string& path);
  Result<Piece> piece(std::size_t bytes_max);
  void problem(const std::string& path, const Error& error);

  PosixFiles files_;
  std::string home_;
  std::deque<std::string> todo_;
  std::set<std::string> seen_;  // ids of sessions, in either place
  bool looked_again_ = false;
  std::uint64_t sessions_ = 0;
  std::vector<std::string> problems_;
  // The file being read.
  Fd file_;
  Piece head_;
  std::uint64_t at_ = 0;
};

}  // namespace reef::exchange
