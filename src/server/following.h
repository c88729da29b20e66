// Whatever is followed with a cursor and known by keys: rows, tasks, decisions. The Followed says
// what is true now; its change log knows which keys changed; follow() makes the answer of the two:
// everything, or what changed since the cursor, then every change. A reader costs a version and no
// queue. Something new to follow is a Followed in the file of its group. Loop thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/change_log.h"
#include "base/result.h"
#include "protocol/protocol.h"

namespace reef::server {

class Followed {
 public:
  virtual ~Followed() = default;

  virtual ChangeLog& log() = 0;
  virtual protocol::Place& place(protocol::ServerMessage& out) = 0;

  // Everything, a part at a time; true with the last part. An error ends the answer.
  virtual Task<Result<bool>> tell_all(protocol::ServerMessage& out, bool first) = 0;
  // What is true of this key now. Returns how many bytes there were to tell; 0: nothing.
  virtual Task<std::size_t> tell(protocol::ServerMessage& out, std::string key) = 0;

  // Before each answer, and once a second: whether what is followed has become something else, and
  // why; empty: it has not. Called first of all.
  virtual Task<Result<std::string>> look() { co_return std::string(); }
  // Keys of which something else is true by now although nothing happened to them, at most so many;
  // `more` when there are others. Until those are told, memo() is as it was.
  virtual std::vector<std::string> drifted(std::size_t, bool& more) {
    more = false;
    return {};
  }
  // A cursor is good for the same scope only: letters and digits. What stands behind it, `memo`, is
  // its own; false: that makes no sense.
  virtual std::string scope() { return "0"; }
  virtual std::string memo() { return {}; }
  virtual bool take_memo(std::string_view memo) { return memo.empty(); }
};

// Never ends by itself, but with an error.
protocol::Answer follow(std::unique_ptr<Followed> what, std::string cursor);

// Cursors are short, whoever made them.
inline constexpr std::size_t kCursorBytesMax = 512;
// Lower-case hexadecimal without a prefix; false for anything else.
bool read_hex(std::string_view text, std::uint64_t& out);
// "a.b.c" in its parts.
std::vector<std::string_view> parts_of(std::string_view cursor);

}  // namespace reef::server
