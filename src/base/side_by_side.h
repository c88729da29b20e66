// Work that several threads do at once while the caller waits.
#pragma once

#include <cstddef>
#include <functional>

namespace reef {

// Calls `work` on this thread and, where possible, on others, up to `threads` together; each call
// must do all that the others have not begun. Returns when all have ended; an exception of any of
// them comes out.
void side_by_side(std::size_t threads, const std::function<void()>& work);

}  // namespace reef
