// The files a session has beside its transcript, on their way out with an export and in with an
// import. Any thread.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "base/files.h"
#include "exchange/exchange.h"

namespace reef::exchange {

// The session folders that are taken along; their names are the same here and there.
inline constexpr std::string_view kSessionFolders[] = {"attachments", "plans", "data",
                                                       "long_responses", "downloads"};

// One of the session's, in pieces whose size is a multiple of three. Returns how much there was.
Result<std::uint64_t> read_in_pieces(const Exported& session, const Exported::File& file,
                                     const std::function<Status(std::string_view)>& take);
// Writes each file below `folder`, under the path it has in the session.
Status write_files(const Exported& session, const std::string& folder, Outlet& outlet);

// The folder for the files of a transcript that cannot hold them: "x.files" beside "x.jsonl".
std::string files_folder_of(std::string_view transcript);

// The place here for a file of a foreign session's folder; nullopt when no folder takes it.
struct FilePlace {
  std::string_view folder;
  std::string name;
};
std::optional<FilePlace> place_in_session(std::string_view path);

// The old path of each file, relative to the session's folder, and its path now.
using Moved = std::map<std::string, std::string, std::less<>>;

// Gives the intake the files in a session's folders. Links are not followed: a folder somebody gave
// us must not bring along files of ours.
Result<Moved> bring_files(Files& files, const std::string& folder, Intake& intake);

}  // namespace reef::exchange
