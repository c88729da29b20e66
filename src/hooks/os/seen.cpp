#include "hooks/os/seen.h"

#include <algorithm>

namespace reef::hooks::os {

void Seen::note(const session::SessionId& session, const std::string& path,
                std::string fingerprint) {
  if (!sessions_.contains(session) && sessions_.size() >= kSessionsMax)
    sessions_.erase(std::min_element(
        sessions_.begin(), sessions_.end(),
        [](const auto& a, const auto& b) { return a.second.used < b.second.used; }));
  auto& files = sessions_[session];
  files.used = ++uses_;
  // A conversation that reads so many files no longer has them in its context either.
  if (files.by_path.size() >= kFilesMax && !files.by_path.contains(path)) files.by_path.clear();
  files.by_path.insert_or_assign(path, std::move(fingerprint));
}

std::optional<std::string> Seen::fingerprint(const session::SessionId& session,
                                             const std::string& path) const {
  const auto files = sessions_.find(session);
  if (files == sessions_.end()) return std::nullopt;
  const auto file = files->second.by_path.find(path);
  if (file == files->second.by_path.end()) return std::nullopt;
  return file->second;
}

}  // namespace reef::hooks::os
