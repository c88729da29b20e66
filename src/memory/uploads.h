// Memories that come from a client in parts, because one frame may be too small. Loop thread.
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
  // Returns all of it with the last part, else nullopt. The client chooses `name`; a part that does
  // not continue the upload is a conflict. When there are too many, the one idle longest is
  // dropped.
  Result<std::optional<std::string>> add(std::string_view name, std::uint64_t offset,
                                         std::string_view part, bool last);

 private:
  struct Upload {
    std::string name;
    std::string bytes;
  };
  std::deque<Upload> uploads_;  // the one idle longest comes first
};

}  // namespace reef::memory
