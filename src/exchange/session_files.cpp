#include "exchange/session_files.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/assert.h"
#include "exchange/foreign_file.h"

namespace reef::exchange {
namespace {

constexpr int kFilesDepthMax = 4;

Status bring(Files& files, const std::string& folder, const std::string& inside, int depth,
             Intake& intake, Moved& moved) {
  const auto path = folder + "/" + inside;
  auto fd = files.open(path, Files::Open::plain);
  const auto stat = fd ? files.stat(fd->get()) : Result<Files::Stat>(fd.error());
  if (!stat) {
    intake.problem({path, 0, stat.error().what});
    return Ok{};
  }
  if (!stat->directory) {
    if (!stat->regular) {
      intake.problem({path, 0, "it is no file"});
      return Ok{};
    }
    const auto place = place_in_session(inside);
    if (!place) return Ok{};
    fd->reset();
    REEF_TRY(moved[inside], intake.copy(place->folder, place->name, path));
    return Ok{};
  }
  if (depth > kFilesDepthMax) {
    intake.problem({path, 0, "too many folders in folders"});
    return Ok{};
  }
  const auto names = files.list(path);
  if (!names) {
    intake.problem({path, 0, names.error().what});
    return Ok{};
  }
  for (const auto& name : *names) {
    if (intake.cancelled()) return Error(Errc::cancelled, "the import was given up");
    if (!name.starts_with('.'))
      REEF_CHECK(bring(files, folder, inside + "/" + name, depth + 1, intake, moved));
  }
  return Ok{};
}

}  // namespace

Result<std::uint64_t> read_in_pieces(const Exported& session, const Exported::File& file,
                                     const std::function<Status(std::string_view)>& take) {
  constexpr std::uint64_t kPiece = 3 << 17;
  REEF_ASSERT(session.documents != nullptr);
  REEF_TRY(const auto document, session.documents->open(file.document));
  for (std::uint64_t offset = 0;;) {
    REEF_TRY(const auto piece, document->read(offset, kPiece));
    if (piece.empty()) return offset;
    offset += piece.size();
    REEF_CHECK(take(piece));
    if (piece.size() < kPiece) return offset;
  }
}

Status write_files(const Exported& session, const std::string& folder, Outlet& outlet) {
  for (const auto& file : session.files) {
    REEF_CHECK(outlet.begin(folder + "/" + file.path));
    REEF_TRY(const auto size, read_in_pieces(session, file, [&](std::string_view piece) {
               return outlet.write(piece);
             }));
    static_cast<void>(size);
    REEF_CHECK(outlet.end());
  }
  return Ok{};
}

std::string files_folder_of(std::string_view transcript) {
  constexpr std::string_view kTranscriptSuffix = ".jsonl";
  if (transcript.ends_with(kTranscriptSuffix)) transcript.remove_suffix(kTranscriptSuffix.size());
  return std::string(transcript) + ".files";
}

std::optional<FilePlace> place_in_session(std::string_view path) {
  if (path == "notes.md") return FilePlace{"data", "notes.md"};
  for (const auto folder : kSessionFolders) {
    if (!path.starts_with(folder) || path.size() <= folder.size() + 1 || path[folder.size()] != '/')
      continue;
    std::string name(path.substr(folder.size() + 1));
    // Hidden files are not taken.
    if (name.starts_with('.') || name.find("/.") != std::string::npos || name.ends_with('/'))
      return std::nullopt;
    // The name must be plain, whatever the disk allows.
    std::replace_if(
        name.begin(), name.end(), [](char c) { return c == '/' || c == '\\' || c == '\0'; }, '_');
    return FilePlace{folder, std::move(name)};
  }
  return std::nullopt;
}

Result<Moved> bring_files(Files& files, const std::string& folder, Intake& intake) {
  Moved moved;
  for (const auto name : kSessionFolders)
    if (is_there(files, fmt::format("{}/{}", folder, name)))
      REEF_CHECK(bring(files, folder, std::string(name), 0, intake, moved));
  if (is_there(files, folder + "/notes.md"))
    REEF_CHECK(bring(files, folder, "notes.md", 0, intake, moved));
  return moved;
}

}  // namespace reef::exchange
