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

// The folders of a session that are taken along, here and there under the same name.
inline constexpr std::string_view kSessionFolders[] = {"attachments", "plans", "data",
                                                       "long_responses", "downloads"};

// One of the session's, in pieces whose size is a multiple of three. Returns how much there was.
Result<std::uint64_t> read_in_pieces(const Exported& session, const Exported::File& file,
                                     const std::function<Status(std::string_view)>& take);
// Each as a file of its own, below `folder` under the path it has here.
Status write_files(const Exported& session, const std::string& folder, Outlet& outlet);

// Where a transcript that can hold no files has them: "x.files" beside "x.jsonl".
std::string files_folder_of(std::string_view transcript);

// Where a file of a foreign session's folder belongs here; nullopt for those there is no folder
// for.
struct FilePlace {
  std::string_view folder;
  std::string name;
};
std::optional<FilePlace> place_in_session(std::string_view path);

// Where a session's files were, relative to its folder, and where they are now.
using Moved = std::map<std::string, std::string, std::less<>>;

// Gives the intake what lies in the folders of a session. Links are not followed: a folder somebody
// gave us must not bring along files of ours.
Result<Moved> bring_files(Files& files, const std::string& folder, Intake& intake);

}  // namespace reef::exchange
