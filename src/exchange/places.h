// Finds the sessions of other programs on this machine, and measures them. Any thread.
#pragma once

#include <atomic>
#include <map>
#include <string>
#include <vector>

#include "base/files.h"
#include "exchange/sources.h"

namespace reef::exchange {

struct Place {
  const Source* source;
  std::string path;
  std::uint64_t bytes = 0;
};

// The size of the files the source's reader would look at.
std::uint64_t bytes_in(Files& files, const Source& source, const std::string& path,
                       const std::atomic<bool>& cancelled);

// The environment variables that lead to these places.
std::vector<std::string_view> place_variables();
// The well-known places that exist. `environment` is that of the person who asks.
std::vector<Place> find_places(Files& files, const std::map<std::string, std::string>& environment);

}  // namespace reef::exchange
