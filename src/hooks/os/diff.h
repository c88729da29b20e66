// Says what changed in a text, as a unified diff. Pure functions.
#pragma once

#include <string>
#include <string_view>

namespace reef::hooks::os {

// Three lines stand around each change; empty when nothing changed. An empty `before` is a new
// file. Very different texts may give a correct diff that is not the shortest.
struct Diff {
  std::string text;  // valid UTF-8
  std::size_t added = 0, removed = 0;
};
Diff unified_diff(std::string_view before, std::string_view after, std::string_view name);

}  // namespace reef::hooks::os
