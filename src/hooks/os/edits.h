// Replaces pieces of a text, found by their exact words. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace reef::hooks::os {

struct Edit {
  std::string old_text, new_text;
  bool everywhere = false;  // otherwise it must occur exactly once
};

struct Edited {
  std::string text;
  std::size_t replaced = 0;
};
// Applies the edits one after the other, all or none. A text whose lines end in CRLF keeps them,
// however the edits are written. Errors name the edit when there are several.
Result<Edited> apply_edits(std::string text, const std::vector<Edit>& edits);

}  // namespace reef::hooks::os
