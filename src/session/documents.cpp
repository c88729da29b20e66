#include "session/documents.h"

#include <algorithm>

#include <fmt/format.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/utf8.h"
#include "session/ids.h"

namespace reef::session {
namespace {

constexpr std::size_t kDocumentNameBytesMax = 4096;
constexpr std::size_t kDocumentPartBytesMax = 255;
constexpr std::string_view kSessions = "sessions";
// Names of things that belong to the process, are derived, or are transcripts.
constexpr std::string_view kNoDocuments[] = {"catalog", "config.toml", "index", "logs",
                                             "run",     "staging",     "trash"};

Error no_name(std::string_view name, std::string_view why) {
  return Error(Errc::invalid, fmt::format("'{}' {}", utf8::excerpt(name), why));
}

Result<std::vector<std::string>> split_parts(std::string_view name) {
  if (name.size() > kDocumentNameBytesMax || name.find('\0') != std::string_view::npos)
    return no_name(name, "cannot be the name of a document");
  std::vector<std::string> parts;
  for (auto rest = name;;) {
    const auto slash = rest.find('/');
    const auto part = rest.substr(0, slash);
    if (part.empty() || part == "." || part == ".." || part.size() > kDocumentPartBytesMax)
      return no_name(name, "cannot be the name of a document");
    parts.emplace_back(part);
    if (slash == std::string_view::npos) break;
    rest.remove_prefix(slash + 1);
  }
  if (parts.size() > kDocumentDepthMax) return no_name(name, "lies too deep");
  const std::string_view top = parts.front();
  if (std::find(std::begin(kNoDocuments), std::end(kNoDocuments), top) != std::end(kNoDocuments))
    return no_name(name, "is no document");
  if (top == kSessions && parts.size() > 1) REEF_CHECK(SessionId::parse(parts[1]));
  return parts;
}

}  // namespace

Version Version::of(std::string_view bytes, std::string hint) {
  Version out;
  const auto hash = XXH3_128bits(bytes.data(), bytes.size());
  out.bytes_ = bytes.size();
  out.digest_ = fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
  out.hint_ = std::move(hint);
  return out;
}

Expected expect(const std::optional<Version>& seen) {
  if (seen) return *seen;
  return Nothing{};
}

Result<std::vector<std::string>> split_document_name(std::string_view name) {
  REEF_TRY(auto parts, split_parts(name));
  if (parts.front() == kSessions) {
    // The transcript, and what is kept beside it, lies in the session's folder itself.
    if (parts.size() < 4) return no_name(name, "is no document");
  } else if (parts.back().ends_with(".tmp")) {
    // So are called what was half written when a machine stopped.
    return no_name(name, "has the ending of what is half written");
  }
  return parts;
}

Result<std::vector<std::string>> split_document_folder(std::string_view folder) {
  if (!folder.ends_with('/')) return no_name(folder, "is no folder, like agents/");
  REEF_TRY(auto parts, split_parts(folder.substr(0, folder.size() - 1)));
  if (parts.front() == kSessions && parts.size() < 2)
    return no_name(folder, "holds sessions; name one of them");
  return parts;
}

std::string session_of(const std::vector<std::string>& parts) {
  return parts.size() > 1 && parts.front() == kSessions ? parts[1] : std::string();
}

Result<bool> is_there(Documents& documents, const std::string& name) {
  const auto opened = documents.open(name);
  if (opened) return true;
  if (opened.error().code == Errc::not_found) return false;
  return opened.error();
}

Result<std::vector<std::string>> names_in(Documents& documents, const std::string& folder,
                                          std::size_t count_max) {
  std::vector<std::string> out;
  constexpr std::size_t kAtOnce = 1000;
  for (std::string cursor;;) {
    REEF_TRY(auto page, documents.list(folder, kAtOnce, cursor));
    for (auto& one : page.documents) out.push_back(std::move(one.name));
    if (out.size() > count_max)
      return Error(Errc::too_large, fmt::format("{} holds more than {} files", folder, count_max));
    if (page.cursor.empty()) return out;
    cursor = std::move(page.cursor);
  }
}

Error no_document(std::string_view name) {
  return Error(Errc::not_found, fmt::format("no file '{}'", shown_name(name)));
}

std::string shown_name(std::string_view name) {
  if (name.starts_with(kSessions))
    if (const auto inside = name.find('/', kSessions.size() + 1); inside != std::string_view::npos)
      name.remove_prefix(inside + 1);
  return utf8::excerpt(name);
}

}  // namespace reef::session
