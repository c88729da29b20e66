// The place where the tools of one call work, and how far they may go. Plain values; any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace reef::hooks::os {

struct PathRules {
  std::string cwd;        // absolute; relative paths start here
  std::string user_home;  // what ~ means
  std::string reef_home;  // without links; closed, except for the session's own folder
  std::string session;    // that folder
  std::string confined;   // when not empty: only this folder and the session's are open
};

// Whether `path` is `folder` or lies in it. Both absolute and without links.
bool within(std::string_view folder, std::string_view path);

// Makes a path absolute and without links; a last part that does not exist keeps its name.
Result<std::string> resolve(const PathRules& paths, std::string_view path);
// The same; an error when the tools may not read the path, or write it.
Result<std::string> resolve_to_read(const PathRules& paths, std::string_view path);
Result<std::string> resolve_to_write(const PathRules& paths, std::string_view path);
// Whether the path is a plan of the session: only plans may be written in any mode.
bool is_plan(const PathRules& paths, std::string_view resolved);

// For people and models: relative when it lies below the working directory, valid UTF-8.
std::string shown(const PathRules& paths, std::string_view resolved);

}  // namespace reef::hooks::os
