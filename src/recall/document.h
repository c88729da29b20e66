// Extracts the searchable part of an entry. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "session/entry.h"

namespace reef::recall {

enum class Role : std::uint8_t { user = 1, assistant, tool, summary, title };
std::string_view name_of(Role role);
std::optional<Role> role_from(std::string_view name);

// The fields of the index, and how much a word in each counts.
enum class Field : std::uint8_t { summary, title, user, tool, assistant };
inline constexpr float kWeights[] = {3.0F, 2.0F, 1.5F, 1.3F, 1.0F};

struct Said {
  Role role = Role::user;
  std::string tool;   // the tool's name
  std::string agent;  // the guest who said it; empty: the session's own agent, or nobody
  struct Part {
    Field field;
    std::string text;
  };
  std::vector<Part> parts;

  std::string text() const;  // all parts, for a person to read
};

// Returns nullopt when the entry has nothing to search for.
std::optional<Said> said_in(const session::Entry& entry);

// In a chat of several people each text starts with a name: "Ann: see you there". speaker_of
// returns a number for that name, 0 when there is none; speaker_number does so for the name alone,
// ignoring case.
std::uint32_t speaker_of(std::string_view text);
std::uint32_t speaker_number(std::string_view name);

// The facts about a document that the index keeps beside its words.
std::uint32_t facets_of(const Said& said, std::uint32_t speaker);
Role role_in(std::uint32_t facets);
bool calls_in(std::uint32_t facets);  // the message calls tools beside saying something
bool guest_in(std::uint32_t facets);  // an agent other than the session's said it
// The document is the result of a lookup, so its words stand elsewhere, too.
bool echoes(std::uint32_t facets);
std::uint32_t speaker_in(std::uint32_t facets);

// The key of a document: the offset of its line, and its number among the session's messages.
struct Place {
  static constexpr unsigned kOrdinalBits = 24;

  std::uint64_t offset = 0;
  std::uint32_t ordinal = 0;

  std::uint64_t key() const { return offset << kOrdinalBits | (ordinal & 0xFFFFFF); }
  static Place of(std::uint64_t key) {
    return Place{key >> kOrdinalBits, static_cast<std::uint32_t>(key & 0xFFFFFF)};
  }
};

}  // namespace reef::recall
