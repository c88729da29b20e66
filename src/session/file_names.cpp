#include "session/file_names.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/utf8.h"

namespace reef::session {
namespace {

constexpr std::string_view kFolders[] = {kAttachmentsFolder, "data", "downloads", "long_responses",
                                         "plans"};
// File systems allow 255; the rest is room for a number.
constexpr std::size_t kNameBytesMax = 240;
constexpr std::size_t kEndingBytesMax = 24;
constexpr std::size_t kPartBytesMax = 255;
constexpr std::size_t kPathBytesMax = 4096;

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7f;
}

// The ending of a name, as in ".txt"; empty when there is none, or one too long to be an ending.
std::string_view ending_of(std::string_view name) {
  const auto dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0 || name.size() - dot > kEndingBytesMax) return {};
  return name.substr(dot);
}

struct Magic {
  std::size_t at;
  std::string_view bytes;
  std::string_view type;
};

using namespace std::string_view_literals;
constexpr Magic kMagic[] = {
    {0, "\x89PNG\r\n\x1a\n"sv, "image/png"},
    {0, "\xff\xd8\xff"sv, "image/jpeg"},
    {0, "GIF87a"sv, "image/gif"},
    {0, "GIF89a"sv, "image/gif"},
    {8, "WEBP"sv, "image/webp"},
    {0, "%PDF-"sv, "application/pdf"},
    {4, "ftypheic"sv, "image/heic"},
    {4, "ftyp"sv, "video/mp4"},
    {8, "WAVE"sv, "audio/wav"},
    {0, "ID3"sv, "audio/mpeg"},
    {0, "OggS"sv, "audio/ogg"},
    {0, "fLaC"sv, "audio/flac"},
    {0, "\x1f\x8b"sv, "application/gzip"},
    {0, "\x28\xb5\x2f\xfd"sv, "application/zstd"},
    {0, "SQLite format 3\0"sv, "application/vnd.sqlite3"},
};
// Many formats are zip files; the ending tells which.
constexpr std::string_view kZip = "PK\x03\x04";

constexpr std::pair<std::string_view, std::string_view> kEndings[] = {
    {".bmp", "image/bmp"},
    {".c", "text/x-c"},
    {".cpp", "text/x-c++"},
    {".css", "text/css"},
    {".csv", "text/csv"},
    {".docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
    {".gif", "image/gif"},
    {".h", "text/x-c"},
    {".htm", "text/html"},
    {".html", "text/html"},
    {".jpeg", "image/jpeg"},
    {".jpg", "image/jpeg"},
    {".js", "text/javascript"},
    {".json", "application/json"},
    {".jsonl", "application/jsonl"},
    {".log", "text/plain"},
    {".md", "text/markdown"},
    {".mp3", "audio/mpeg"},
    {".mp4", "video/mp4"},
    {".odt", "application/vnd.oasis.opendocument.text"},
    {".pdf", "application/pdf"},
    {".png", "image/png"},
    {".pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"},
    {".py", "text/x-python"},
    {".rs", "text/x-rust"},
    {".sh", "application/x-sh"},
    {".svg", "image/svg+xml"},
    {".tar", "application/x-tar"},
    {".toml", "application/toml"},
    {".ts", "text/typescript"},
    {".tsv", "text/tab-separated-values"},
    {".txt", "text/plain"},
    {".wav", "audio/wav"},
    {".webp", "image/webp"},
    {".xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
    {".xml", "application/xml"},
    {".yaml", "application/yaml"},
    {".yml", "application/yaml"},
    {".zip", "application/zip"},
};

bool looks_like_text(std::string_view bytes) {
  const bool control = std::any_of(bytes.begin(), bytes.end(), [](char c) {
    return is_control(c) && c != '\n' && c != '\r' && c != '\t' && c != '\f' && c != '\x1b';
  });
  // The last character may be cut.
  return !control && (utf8::valid(bytes) || utf8::valid(utf8::prefix(bytes, bytes.size() - 1)) ||
                      utf8::valid(utf8::prefix(bytes, bytes.size() - 2)) ||
                      utf8::valid(utf8::prefix(bytes, bytes.size() - 3)));
}

}  // namespace

std::span<const std::string_view> session_folders() {
  return kFolders;
}

Status check_folder(std::string_view folder) {
  if (std::find(std::begin(kFolders), std::end(kFolders), folder) != std::end(kFolders))
    return Ok{};
  return Error(Errc::invalid, fmt::format("no folder '{}'; there are: {}", utf8::excerpt(folder),
                                          fmt::join(kFolders, ", ")));
}

std::string file_name_from(std::string_view original) {
  if (const auto slash = original.rfind('/'); slash != std::string_view::npos)
    original.remove_prefix(slash + 1);
  auto name = utf8::sanitize(original);
  std::replace_if(name.begin(), name.end(), is_control, '_');
  if (name.empty() || name == "." || name == "..") return "file";
  if (name.size() <= kNameBytesMax) return name;
  const std::string ending(ending_of(name));
  return std::string(utf8::prefix(name, kNameBytesMax - ending.size())) + ending;
}

std::string numbered_file_name(std::string_view name, unsigned number) {
  if (number < 2) return std::string(name);
  const auto ending = ending_of(name);
  return fmt::format("{}-{}{}", name.substr(0, name.size() - ending.size()), number, ending);
}

Result<std::vector<std::string>> split_file_path(std::string_view path) {
  const auto refuse = [&](std::string_view why) {
    return Error(Errc::invalid, fmt::format("'{}' {}", utf8::excerpt(path), why));
  };
  if (path.size() > kPathBytesMax || path.find('\0') != std::string_view::npos)
    return refuse("cannot be a path");
  std::vector<std::string> parts;
  for (auto rest = path;;) {
    const auto slash = rest.find('/');
    const auto part = rest.substr(0, slash);
    if (part.empty() || part == "." || part == ".." || part.size() > kPartBytesMax)
      return refuse("is not a path in a session's folders, like data/table.csv");
    parts.emplace_back(part);
    if (slash == std::string_view::npos) break;
    rest.remove_prefix(slash + 1);
  }
  REEF_CHECK(check_folder(parts.front()));
  if (parts.size() < 2) return refuse("is a folder; reef files lists what it holds");
  return parts;
}

std::string file_type(std::string_view name, std::string_view first_bytes) {
  for (const auto& magic : kMagic)
    if (first_bytes.size() >= magic.at && first_bytes.substr(magic.at).starts_with(magic.bytes))
      return std::string(magic.type);
  const auto ending = utf8::lower_ascii(ending_of(name));
  for (const auto& [known, type] : kEndings)
    if (ending == known) return std::string(type);
  if (first_bytes.starts_with(kZip)) return "application/zip";
  return looks_like_text(first_bytes) ? "text/plain" : "application/octet-stream";
}

}  // namespace reef::session
