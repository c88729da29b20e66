// Opens files in a folder that somebody else filled. Only for use inside skills/. Blocks; any
// thread.
#pragma once

#include <string>

#include "base/files.h"

namespace reef::skills {

// Opens a regular file at `path` below `folder` for reading. Links are followed only if they stay
// below it. Fails with denied when the path leads out or the file is another user's, because others
// who can write to a shared folder must not instruct our agents.
Result<Fd> open_beneath(const std::string& folder, const std::string& path);

}  // namespace reef::skills
