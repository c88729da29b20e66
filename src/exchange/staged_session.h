// The session that an intake is given just now.
#pragma once

#include "exchange/staging.h"
#include "exchange/trust.h"

namespace reef::exchange {

struct StagedIntake::Open {
  explicit Open(Head what, session::SessionId session_id)
      : head(std::move(what)), id(std::move(session_id)), row(id) {}

  Head head;
  session::SessionId id;
  json::object meta;      // the head's, and what was learned
  Claims claims;          // the head's, and those of entries of ours
  std::string parent_id;  // the session it was forked from
  session::Row row;       // folded on the way, for a fresh session
  std::optional<session::EntryId> last;
  IdTable ids;
  std::uint64_t entries = 0;  // new ones
  std::uint64_t repeated = 0;
  std::uint64_t orphans = 0;

  // Set for a fresh session.
  std::string folder;
  Fd file;
  std::uint64_t written = 0;

  // Set for a session that is already here.
  bool known = false;
  bool first = true;        // no other file of this import is of the same session
  json::array other_marks;  // the marks of its other files
  json::object before;      // its metadata here
  std::optional<session::EntryId> leaf;
  bool aside = false;  // somebody went on with it here, so the leaf stays
  std::vector<session::Entry> added;
  std::size_t added_bytes = 0;
};

void set_parent(session::Entry& entry, std::optional<session::EntryId> parent);

}  // namespace reef::exchange
