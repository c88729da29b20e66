#include "exchange/staged_files.h"

#include <fmt/format.h>

#include "base/utf8.h"

namespace reef::exchange {
namespace {

constexpr std::uint64_t kPieceBytes = 1U << 20;
constexpr std::size_t kNameBytesMax = 200;

// A name that stays in its folder and can be shown.
std::string safe_name(std::string_view name) {
  std::string out;
  for (const char c : utf8::printable(utf8::sanitize(name)))
    out.push_back(c == '/' || c == '\\' || c == '\n' || c == '\t' ? '_' : c);
  out = utf8::prefix(out, kNameBytesMax);
  while (out.starts_with('.')) out.erase(0, 1);
  return out.empty() ? "file" : out;
}

// name-2.png
std::string numbered(const std::string& name, int n) {
  if (n < 2) return name;
  const auto dot = name.find_last_of('.');
  if (dot == std::string::npos || dot == 0) return fmt::format("{}-{}", name, n);
  return fmt::format("{}-{}{}", name.substr(0, dot), n, name.substr(dot));
}

}  // namespace

Status make_folder(Files& files, const std::string& path) {
  auto made = files.make_directory(path);
  if (!made && made.error().code == Errc::conflict) return Ok{};
  return made;
}

std::string StagedFiles::place_of(const std::string& path) const {
  return known_ ? fmt::format("sessions/{}/{}", id_.text(), path) : folder_ + "/" + path;
}

Result<StagedFiles::There> StagedFiles::look(const std::string& path) {
  const auto place = place_of(path);
  if (known_) {
    auto document = job_.needs().documents.open(place);
    if (!document && document.error().code == Errc::not_found) return There{};
    if (!document && document.error().code == Errc::invalid) return There{true, false, 0, {}};
    if (!document) return std::move(document).error();
    const auto size = (*document)->info().bytes;
    return There{true, true, size,
                 [document = *std::move(document)](std::uint64_t from, std::uint64_t size) {
                   return document->read(from, size);
                 }};
  }
  const auto stat = files_.stat_path(place);
  if (!stat && stat.error().code == Errc::not_found) return There{};
  if (!stat) return stat.error();
  return There{true, stat->regular, stat->size,
               [this, place](std::uint64_t from, std::uint64_t size) -> Result<std::string> {
                 REEF_TRY(const Fd fd, files_.open(place, Files::Open::source));
                 return read_range(files_, fd.get(), from, size);
               }};
}

// Finds a path for a new file in the folder, relative to the session's; `same` tells whether an
// existing file holds the same bytes.
Result<StagedFiles::Spot> StagedFiles::spot_for(
    std::string_view folder, std::string_view name,
    const std::function<Result<bool>(const There&)>& same) {
  std::string below;
  // "data/archives" is two folders.
  for (std::string_view rest = folder; !rest.empty();) {
    const auto slash = rest.find('/');
    below += (below.empty() ? "" : "/") + safe_name(rest.substr(0, slash));
    if (!job_.request.dry_run && !known_) REEF_CHECK(make_folder(files_, folder_ + "/" + below));
    rest = slash == std::string_view::npos ? std::string_view() : rest.substr(slash + 1);
  }
  const auto safe = safe_name(name);
  for (int n = 1;; ++n) {
    Spot spot{below + "/" + numbered(safe, n)};
    if (job_.request.dry_run) return spot;
    REEF_TRY(const auto there, look(spot.path));
    if (!there.taken) return spot;
    if (!there.regular) continue;
    REEF_TRY(spot.there, same(there));
    if (spot.there) return spot;
  }
}

Result<std::string> StagedFiles::put(std::string_view folder, std::string_view name,
                                     std::string_view bytes) {
  REEF_TRY(const auto spot, spot_for(folder, name, [&](const There& there) -> Result<bool> {
             if (there.bytes != bytes.size()) return false;
             REEF_TRY(const auto other, there.read(0, there.bytes));
             return other == bytes;
           }));
  if (spot.there || job_.request.dry_run) return spot.path;
  const auto place = place_of(spot.path);
  if (known_) {
    const auto kept = job_.needs().documents.replace(place, bytes, session::Nothing{});
    if (!kept) return kept.error();
  } else {
    REEF_TRY(const Fd fd, files_.open(place, Files::Open::create));
    REEF_CHECK(write_all(files_, fd.get(), bytes));
  }
  return spot.path;
}

Result<std::string> StagedFiles::copy(std::string_view folder, std::string_view name, int source,
                                      std::uint64_t size) {
  REEF_TRY(const auto spot, spot_for(folder, name, [&](const There& there) -> Result<bool> {
             if (there.bytes != size) return false;
             for (std::uint64_t at = 0; at < size; at += kPieceBytes) {
               if (job_.cancelled()) return Error(Errc::cancelled, "cancelled");
               REEF_TRY(const auto ours, there.read(at, kPieceBytes));
               REEF_TRY(const auto theirs, read_range(files_, source, at, kPieceBytes));
               if (ours != theirs) return false;
             }
             return true;
           }));
  if (spot.there || job_.request.dry_run) return spot.path;
  REEF_CHECK(copy_pieces(source, size, place_of(spot.path)));
  return spot.path;
}

Status StagedFiles::copy_pieces(int source, std::uint64_t size, const std::string& place) {
  const auto each = [&](const std::function<Status(std::string_view)>& write) -> Status {
    for (std::uint64_t at = 0; at < size;) {
      if (job_.cancelled()) return Error(Errc::cancelled, "cancelled");
      REEF_TRY(const auto piece, read_range(files_, source, at, kPieceBytes));
      if (piece.empty()) break;
      REEF_CHECK(write(piece));
      at += piece.size();
    }
    return Ok{};
  };
  if (known_) {
    REEF_TRY(const auto target, job_.needs().documents.receive());
    REEF_CHECK(each([&](std::string_view piece) { return target->write(piece); }));
    const auto kept = target->keep(place, session::Nothing{});
    if (!kept) return kept.error();
    return Ok{};
  }
  // The file appears whole under its name, or not at all.
  const auto fresh = place + ".new";
  static_cast<void>(files_.remove(fresh).ok());
  {
    REEF_TRY(const Fd target, files_.open(fresh, Files::Open::create));
    REEF_CHECK(
        each([&](std::string_view piece) { return write_all(files_, target.get(), piece); }));
  }
  return files_.rename(fresh, place);
}

}  // namespace reef::exchange
