// What changed in a text, as programmers read it. Pure functions.
#pragma once

#include <string>
#include <string_view>

namespace reef::hooks::os {

// Unified, three lines around each change; empty when nothing changed. `before` empty: a new file.
// Very different texts come out as one removed and one added, which is right, if not the shortest.
struct Diff {
  std::string text;  // valid UTF-8
  std::size_t added = 0, removed = 0;
};
Diff unified_diff(std::string_view before, std::string_view after, std::string_view name);

}  // namespace reef::hooks::os
