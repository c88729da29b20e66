// One line of a transcript, as a value. Grammar and rules: docs/formats/transcript.md.
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "base/json.h"
#include "session/ids.h"
#include "session/message.h"

namespace reef::session {

// Line 1 of a transcript.
struct Header {
  static constexpr int kVersion = 3;
  static constexpr std::size_t kBytesMax = 512;  // older pi reads no further to find it

  std::string id;
  int version = kVersion;
  TimePoint time;
  std::string cwd;
  std::string parent_session;  // the file this one was forked from
  json::object body;           // as read; empty for a new one
};

// Every other line. `body` is the whole object as read or written, so that unknown fields and
// unknown types are never lost.
struct Entry {
  EntryId id;
  std::optional<EntryId> parent;  // nullopt: a root
  TimePoint time;
  std::string type;
  json::object body;
};

// An entry before the transcript gives it a place.
struct Draft {
  std::string type;
  json::object fields;
};

inline constexpr std::string_view kMetaType = "reef.meta";

Draft draft_message(const Message& message);
// A merge patch on the session's metadata.
Draft draft_meta(json::object patch);
// Records that the leaf moved to `to`, which is this entry's parent.
Draft draft_rewind(const EntryId& to, const std::optional<EntryId>& from);

// The line with its newline. A cwd that would make the header too long is left out.
std::string header_line(const Header& header);
std::string entry_line(const Entry& entry);
void append_line(std::string& out, const Entry& entry);

Entry make_entry(Draft draft, EntryId id, std::optional<EntryId> parent, TimePoint time);
// Reads a line whose object has type "session".
std::optional<Header> header_from(const json::object& body);
// nullopt when the object has no type. A missing id is left empty for the reader to fill.
std::optional<Entry> entry_from(json::object body);

std::optional<Message> message_of(const Entry& entry);
bool is_hidden(const Entry& entry);
// AssistantMessage::hides of a silent reply; 0 for all others.
std::int64_t hides(const Entry& entry);
// The patch of a reef.meta entry, else nullptr.
const json::object* meta_of(const Entry& entry);

}  // namespace reef::session
