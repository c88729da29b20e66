// Remembers which files a conversation has read, and their content's hash. Only those may be
// changed, and only while they are unchanged. Kept in memory; after a restart files are read again.
// Loop thread only.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "session/ids.h"

namespace reef::hooks::os {

class Seen {
 public:
  static constexpr std::size_t kSessionsMax = 1000;  // the least recently used one is forgotten
  static constexpr std::size_t kFilesMax = 2000;     // of one session

  void note(const session::SessionId& session, const std::string& path, std::string fingerprint);
  std::optional<std::string> fingerprint(const session::SessionId& session,
                                         const std::string& path) const;

 private:
  struct Files {
    std::map<std::string, std::string> by_path;
    std::uint64_t used = 0;
  };
  std::map<session::SessionId, Files> sessions_;
  std::uint64_t uses_ = 0;
};

}  // namespace reef::hooks::os
