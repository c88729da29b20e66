// Sessions as clients name them and are shown them: ids, rows, entries, lists.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "protocol/protocol.h"
#include "session/query.h"

namespace reef::organise {
struct Defined;
class Definitions;
}  // namespace reef::organise
namespace reef::session {
struct Line;
class Sessions;
}  // namespace reef::session

namespace reef::server {

// not_found when there is no such session, invalid when it cannot be one.
Result<session::SessionId> known_session(const session::Sessions& sessions,
                                         const std::string& text);
// A status that is not defined is shown as another.
void fill(protocol::SessionRow& out, const session::Row& row,
          const organise::Definitions& definitions);
void fill_entry(protocol::SessionEntry& out, const session::Line& line);
// Makes the answer SessionInfo.
protocol::ServerMessage session_info(const session::Sessions& sessions,
                                     const organise::Definitions& definitions,
                                     const session::SessionId& id);

// Makes a test for rows from a view and a filter; either may be empty. It keeps the definitions it
// was made with. `now`: what ages are counted to.
using RowFilter = std::function<bool(const session::Row&)>;
Result<RowFilter> row_filter(std::shared_ptr<const organise::Defined> defined,
                             const std::string& view, const std::string& where, TimePoint now);
Result<session::Query> query_from(std::shared_ptr<const organise::Defined> defined,
                                  const protocol::ListSessions& in, TimePoint now);

}  // namespace reef::server
