// Which note a sentence becomes, and which one it means. Pure functions; deterministic.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/local/found.h"

namespace reef::model {

// A name for a note with this content that takes nothing from the notes that `recall` found for
// short_name(content): `remember` writes over a note of the same name. `all_seen`: there are no
// more of them.
std::string free_name(std::string_view content, const std::vector<Note>& there, bool all_seen);
// The first words that say something.
std::string short_name(std::string_view content);

// What somebody who says `subject` means, of what `recall` found for it.
struct Meant {
  enum class By : std::uint8_t { nothing, name, content };
  By by = By::nothing;
  const Note* note = nullptr;        // the one that is meant beyond doubt; else nullptr
  std::vector<const Note*> nearest;  // have something of it, the nearest first
};
// `exact`: it is a name and no description.
Meant meant_by(std::string_view subject, bool exact, const std::vector<Note>& found);
// The subject as a name somebody may have given a note: without "the" and its like in front.
std::string as_name(std::string_view subject);

}  // namespace reef::model
