// Every format sessions can be written in. One instance writes one export; the outlet must outlive
// it.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "exchange/exchange.h"

namespace reef::exchange {

struct Format {
  std::string_view name;
  bool one_file;      // a session is one file, perhaps with others beside it; else it is a folder
  bool oldest_first;  // its names count up, so sessions are written oldest first
  bool joinable;      // the files of several sessions can be joined into one of the same format
  std::unique_ptr<Writer> (*make)(Outlet&);
};

std::span<const Format> formats();
// An unknown name is invalid; the error lists the formats.
Result<const Format*> find_format(std::string_view name);

}  // namespace reef::exchange
