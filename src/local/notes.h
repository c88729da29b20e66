// Chooses the name of a new note, and the note that a text means. Pure functions; deterministic.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "local/found.h"

namespace reef::local {

// Returns a name for a note with this content that differs from those of the notes `there`, which
// `recall` found for short_name(content): `remember` overwrites a note of the same name.
// `all_seen`: `recall` left none out.
std::string free_name(std::string_view content, const std::vector<Note>& there, bool all_seen);
// Makes a name of the first telling words.
std::string short_name(std::string_view content);

// The note that `subject` means among those that `recall` found for it.
struct Meant {
  enum class By : std::uint8_t { nothing, name, content };
  By by = By::nothing;
  const Note* note = nullptr;        // the note meant beyond doubt, else nullptr
  std::vector<const Note*> nearest;  // notes that share words with the subject, nearest first
};
// `exact`: the subject is a name, not a description.
Meant meant_by(std::string_view subject, bool exact, const std::vector<Note>& found);
// Returns the subject as a possible name of a note, without leading stop words.
std::string as_name(std::string_view subject);

}  // namespace reef::local
