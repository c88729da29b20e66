// What the group `search` runs in a process of its own.
#pragma once

#include <string>

namespace reef::benchmarks {

// Opens the index, asks what stands in the file beside it, and prints how long that took and what
// is resident then. Returns an exit code.
int search_here(const std::string& directory);

}  // namespace reef::benchmarks
