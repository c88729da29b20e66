// Opening files of a folder that somebody else filled. Inside skills/ only. Blocks; any thread.
#pragma once

#include <string>

#include "base/files.h"

namespace reef::skills {

// Opens a regular file at `path` below `folder`, to read. Links are followed only where they stay
// below it. denied: it leads out, or is another user's; whoever may write to a shared folder must
// not speak to our agents.
Result<Fd> open_beneath(const std::string& folder, const std::string& path);

}  // namespace reef::skills
