// Memories that come from a client in parts, because one frame may be too small for them. Loop
// thread.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace reef::memory {

class Uploads {
 public:
  // All of it with the last part, else nullopt. `name` is the client's choice; a part that does not
  // continue what is here is a conflict. Of those that never come to an end the oldest is given up.
  Result<std::optional<std::string>> add(std::string_view name, std::uint64_t offset,
                                         std::string_view part, bool last);

 private:
  struct Upload {
    std::string name;
    std::string bytes;
  };
  std::deque<Upload> uploads_;  // the one that began first in front
};

}  // namespace reef::memory
