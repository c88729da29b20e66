#include "hooks/instructions/instructions.h"

#include <algorithm>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/utf8.h"

namespace reef::hooks {
namespace {

constexpr std::size_t kKnownMax = 256;
constexpr std::size_t kFoldersMax = 64;
constexpr std::size_t kTotalTimes = 4;

// "/a/b" becomes "", "/a", "/a/b"; empty for a path that is not absolute.
std::vector<std::string> folders_down_to(const std::string& path) {
  std::vector<std::string> out;
  if (!path.starts_with('/') || path.find('\0') != std::string::npos) return out;
  for (std::size_t at = 0; at != std::string::npos; at = path.find('/', at + 1)) {
    auto folder = path.substr(0, at);
    if (out.empty() || folder.size() > out.back().size() + 1) out.push_back(std::move(folder));
  }
  if (path.size() > 1 && !path.ends_with('/')) out.push_back(path);
  // The folders nearest to the work count.
  if (out.size() > kFoldersMax) out.erase(out.begin(), out.end() - kFoldersMax);
  return out;
}

// A little more is read than is shown: the end of a character is only seen behind it.
constexpr std::size_t kMore = 4;

// `bytes` are the beginning of a file of `size`.
std::string shown_words(std::string_view bytes, std::uint64_t size, std::size_t bytes_max) {
  auto text = utf8::sanitize(size > bytes_max ? utf8::prefix(bytes, bytes_max) : bytes);
  if (size > bytes_max) text += fmt::format("\n[cut here; the file has {} bytes]", size);
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace

bool is_instructions_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.size() <= 255 &&
         name.find('/') == std::string_view::npos && name.find('\0') == std::string_view::npos;
}

const Instructions::Known* Instructions::look(const std::string& path, std::size_t bytes_max) {
  struct ::stat info = {};
  const auto fd = files_.open(path, Files::Open::source);
  if (!fd || ::fstat(fd->get(), &info) != 0) return nullptr;
  if (!S_ISREG(info.st_mode) || (info.st_uid != ::geteuid() && info.st_uid != 0)) return nullptr;
  const auto stat = files_.stat(fd->get());
  if (!stat) return nullptr;
  auto& known = known_[path];
  if (known.inode == info.st_ino && known.device == info.st_dev && known.size == stat->size &&
      known.modified_ns == stat->modified_ns && known.bytes_max == bytes_max)
    return &known;
  auto bytes =
      read_range(files_, fd->get(), 0, std::min<std::uint64_t>(stat->size, bytes_max + kMore));
  if (!bytes) {
    known_.erase(path);
    return nullptr;
  }
  auto text = shown_words(*bytes, stat->size, bytes_max);
  known =
      Known{info.st_dev, info.st_ino, stat->size, stat->modified_ns, bytes_max, std::move(text)};
  return &known;
}

bool Instructions::has_none_of_home(const InstructionsRule& rule) {
  return std::all_of(rule.files.begin(), rule.files.end(),
                     [this](const auto& name) { return documents_.unchanged(name, std::nullopt); });
}

std::string Instructions::read_own(const std::string& name, std::size_t bytes_max) {
  const auto document = documents_.open(name);
  if (!document || !(*document)->info().ours) return {};
  const auto size = (*document)->info().bytes;
  const auto bytes = (*document)->read(0, std::min<std::uint64_t>(size, bytes_max + kMore));
  return bytes ? shown_words(*bytes, size, bytes_max) : std::string();
}

std::string Instructions::collect(const InstructionsRule& rule, const std::string& cwd) {
  const std::lock_guard lock(mutex_);
  if (known_.size() > kKnownMax) known_.clear();
  struct Found {
    std::string path, text;
  };
  std::vector<Found> found;
  // CLAUDE.md may be a link to AGENTS.md: the same words are said once.
  const auto is_said = [&](const std::string& text) {
    return std::any_of(found.begin(), found.end(),
                       [&](const Found& one) { return one.text == text; });
  };
  for (const auto& name : rule.files)
    if (auto text = read_own(name, rule.bytes_max); !text.empty() && !is_said(text))
      found.push_back(Found{home_ + "/" + name, std::move(text)});
  const auto own = found.size();
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
  for (const auto& folder : folders_down_to(cwd)) {
    if (folder == home_ || folder.starts_with(home_ + "/")) continue;
    for (const auto& name : rule.files) {
      auto path = folder + "/" + name;
      const auto* known = look(path, rule.bytes_max);
      if (known && !known->text.empty() && seen.emplace(known->device, known->inode).second)
        found.push_back(Found{std::move(path), known->text});
    }
  }
  // A folder that is also the home's says it there.
  for (auto i = own; i > 0; --i)
    if (std::any_of(found.begin() + static_cast<std::ptrdiff_t>(own), found.end(),
                    [&](const Found& one) { return one.text == found[i - 1].text; }))
      found[i - 1].text.clear();
  std::erase_if(found, [](const Found& one) { return one.text.empty(); });
  // When it is too much in all, the files farthest from the work go first.
  std::size_t total = 0;
  for (const auto& one : found) total += one.text.size();
  while (found.size() > 1 && total > kTotalTimes * (rule.bytes_max + 100)) {
    const auto farthest = found.begin();
    total -= farthest->text.size();
    found.erase(farthest);
  }
  if (found.empty()) return {};
  std::string out = "<instructions>\n";
  for (const auto& one : found)
    out += fmt::format("<file path=\"{}\">\n{}\n</file>\n",
                       utf8::single_line(utf8::printable(one.path)), one.text);
  return out + "</instructions>";
}

}  // namespace reef::hooks
