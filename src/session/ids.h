// Names of things. Strong types, so that a session id is never passed where a key is meant.
#pragma once

#include <compare>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/random.h"
#include "base/result.h"

namespace reef::session {

// Names a session's folder. Letters, digits, '.', '_' and '-', not starting with '.', so that it
// can never leave its directory.
class SessionId {
 public:
  static constexpr std::size_t kBytesMax = 128;

  static Result<SessionId> parse(std::string_view text);
  const std::string& text() const { return text_; }
  auto operator<=>(const SessionId&) const = default;

 private:
  explicit SessionId(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

// A new id like 261115-swift-river. `attempt` 1 gives the plain id, 2 adds "-2", and so on.
SessionId make_session_id(TimePoint now, std::uint64_t choice, unsigned attempt);
// How many different ids a day has before a number must be added.
std::uint64_t session_id_choices();

// Unique within one transcript.
struct EntryId {
  std::string text;
  auto operator<=>(const EntryId&) const = default;
};

// Long enough to be unique without knowing the ids of the part of a file that was not read.
EntryId fresh_entry_id(Random& random);

// Names a conversation. Keys are compared exactly: `tg:12`, `tg-12` and `TG 12` are three.
class Key {
 public:
  static constexpr std::size_t kBytesMax = 1024;

  // agent:<agent>:<sender>
  static Result<Key> of_pair(std::string_view agent, std::string_view sender);
  // Any name; one that starts with agent: must have all its parts.
  static Result<Key> parse(std::string_view text);
  // The agent and the rest of agent:<agent>:<rest>; nullopt for other keys.
  std::optional<std::pair<std::string, std::string>> pair() const;
  const std::string& text() const { return text_; }
  auto operator<=>(const Key&) const = default;

 private:
  explicit Key(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

// Checks a name that also names files; the error says `what` it is the name of.
Status check_name(std::string_view what, std::string_view name);
// Check the parts of a key. A sender may be whatever its client says, slashes included, because no
// file is named by it. An agent's name also names its files.
Status check_sender(std::string_view sender);
Status check_agent_name(std::string_view name);
// Checks the metadata field `agent` or `sender`.
Status check_part(std::string_view field, std::string_view text);

}  // namespace reef::session

template <>
struct std::hash<reef::session::SessionId> {
  std::size_t operator()(const reef::session::SessionId& id) const {
    return std::hash<std::string>()(id.text());
  }
};
template <>
struct std::hash<reef::session::EntryId> {
  std::size_t operator()(const reef::session::EntryId& id) const {
    return std::hash<std::string>()(id.text);
  }
};
template <>
struct std::hash<reef::session::Key> {
  std::size_t operator()(const reef::session::Key& key) const {
    return std::hash<std::string>()(key.text());
  }
};
