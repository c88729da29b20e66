// Sessions as they change and as they grow, and how rows and entries are shown everywhere.
#pragma once

#include <optional>
#include <string>

#include "client/client.h"
#include "context.h"
#include "session/entry.h"

namespace reef::cli {

// Everything known of a session, as JSON.
json::value details(const protocol::SessionRow& row);
std::string line_of(const protocol::SessionRow& row, TimePoint now, std::size_t id_width);
// Shows speaker, time and words of an entry; nothing for some kinds of entries.
enum class Part : std::uint8_t { whole, head };
void print_entry(const Context& context, const session::Entry& entry, Part part = Part::whole);

// The rows of a list, then every one that comes, changes or leaves it, until interrupted.
Task<Status> follow_sessions(const Context& context, client::Client& client,
                             protocol::ListSessions query);

struct TailOptions {
  std::string id;
  bool follow = false;
  bool live = false;                  // also what is said before it is an entry
  std::optional<std::uint32_t> last;  // begin with so many entries; none: with all
};
int run_tail(const Context& context, const TailOptions& options);

}  // namespace reef::cli
