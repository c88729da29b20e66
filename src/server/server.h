// Table of contents of server/: one request in, a stream of answers out, whatever the transport.
//
//   server.h             dispatch, Node          this file: what the daemon puts together
//   operations.h         the table of operations: names, rights, handlers
//
// Each group of operations is a file; what others need of it stands in a header of the same name.
//   turns.cpp            send, stream, steer, kill, attach to a run
//   compactions.cpp      compact
//   contexts.cpp         what fills a window, what a session is, its title
//   questions.cpp        what agents ask: list, reply
//   decisions.cpp        what a person decides: list, answer
//   permissions.cpp      what was allowed for good, plans
//   node.cpp             hello, ping, stats, reload, shutdown, and what is gone
//   sessions.cpp         list, read, follow
//   session_changes.cpp  new, resume, fork, rewind, patch, label, trash, restore, check
//   files.cpp            attach, list and read files of a session
//   retention.cpp        collect garbage
//   usage.cpp            tokens and cost
//   memories.cpp         what agents remember
//   conversations.cpp    CrabTalk's lists and history
//   exports.cpp          export
//   backups.cpp          backup
//   imports.cpp          import, find imports, cancel import
//   organise.cpp         statuses, labels, rules, views
//   bulk.cpp             one change for all sessions a filter holds
//   search.cpp           search, list messages
//   models.cpp           models, providers
//   agents.cpp           agents: list, get, create, update, rename, delete
//   events.cpp           what happens in all turns, for subscribers
//   skills.cpp           skills: list, read
//   subscriptions.cpp    which events start which agents: subscribe, list, publish
//   tasks.cpp            everything that runs: list, cancel, subscribe, follow
//   follow_sessions.cpp  the rows of a list, and what becomes of them
//   follow_entries.cpp   the entries of a session, and what is being said
//   follow_decisions.cpp what waits for a person, and what becomes of it
//   crabtalk.cpp         how CrabTalk's generations differ
//   mcps.cpp             MCP servers: list, add, remove, test, events
//   mcp_logins.cpp       logging in to them
//
// What several groups are made of:
//   following.h          Followed, follow          what is followed with a cursor
//   ledger.h             Ledger                  what named requests were answered with
//   entrance.h           Entrance                messages on their way into conversations
//   search_answer.h      SearchAnswer            what searches find, written as bytes
//
// Loop thread only.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/task.h"
#include "protocol/peer.h"
#include "protocol/protocol.h"

namespace reef {
class Clock;
class Pool;
}  // namespace reef
namespace reef::bus {
class Bus;
}
namespace reef::exchange {
class Importer;
}
namespace reef::memory {
class Memories;
}
namespace reef::organise {
class Changes;
class Definitions;
}  // namespace reef::organise
namespace reef::recall {
class Recall;
}
namespace reef::runtime {
class Compactions;
class Live;
class Runtime;
class Tasks;
}  // namespace reef::runtime
namespace reef::session {
class Attachments;
class Documents;
class Sessions;
class Transcripts;
}  // namespace reef::session
namespace reef::skills {
class Library;
}

namespace reef::server {

class Entrance;
class Ledger;
struct Agents;
struct Mcps;
struct Models;

// Everything the operations act on; all of it outlives the answers. No handler sees it: each group
// says what it takes of it (operations.h).
struct Node {
  runtime::Runtime& runtime;
  runtime::Compactions& compactions;
  runtime::Tasks& tasks;
  runtime::Live& live;
  session::Sessions& sessions;
  session::Transcripts& store;
  session::Documents& documents;
  session::Attachments& attachments;
  memory::Memories& memories;
  skills::Library& skills;
  bus::Bus& bus;
  exchange::Importer& imports;
  organise::Definitions& definitions;
  organise::Changes& changes;
  recall::Recall& recall;
  Ledger& ledger;
  Entrance& entrance;
  Clock& clock;
  Pool& pool;
  std::string home;  // the folder everything lies in
  // These are done by the daemon itself.
  std::function<Task<Status>()> reload;
  std::function<void()> shutdown;
  std::function<void(protocol::Stats&)> fill_stats;
  std::shared_ptr<const Models> models;
  std::shared_ptr<const Agents> agents;
  std::shared_ptr<const Mcps> mcps;
};

protocol::Answer dispatch(const Node& node, const protocol::Peer& peer,
                          protocol::ClientMessage message);

}  // namespace reef::server
