// Where the tools of one call stand and how far they may go. Plain values; any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace reef::hooks::os {

struct Ground {
  std::string cwd;        // absolute; relative paths start here
  std::string user_home;  // what ~ means
  std::string reef_home;  // without links; closed, but for the session's own folder
  std::string session;    // that folder
  std::string confined;   // not empty: nothing outside of it and of the session's folder
};

// Whether `path` is `folder` or lies in it. Both absolute and without links.
bool within(std::string_view folder, std::string_view path);

// Absolute and without links; a last part that is not there yet stays as it is named.
Result<std::string> resolve(const Ground& ground, std::string_view path);
// The same, when the tools may look at it, or change it.
Result<std::string> resolve_to_read(const Ground& ground, std::string_view path);
Result<std::string> resolve_to_write(const Ground& ground, std::string_view path);
// A plan of the session: the one thing that may be written in any mode.
bool is_plan(const Ground& ground, std::string_view resolved);

// For people and models: relative when it lies below the working directory, valid UTF-8.
std::string shown(const Ground& ground, std::string_view resolved);

}  // namespace reef::hooks::os
