#include "skills/shelf.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "base/utf8.h"
#include "skills/beneath.h"

namespace reef::skills {
namespace {

constexpr std::size_t kKnownMax = 4096;
constexpr std::size_t kBundledDepthMax = 4;
constexpr std::size_t kProblemsMax = 200;

std::optional<std::string> real_path(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), std::free);
  return real ? std::optional<std::string>(real.get()) : std::nullopt;
}

bool within(const std::string& folder, const std::string& path) {
  return path == folder || folder == "/" || path.starts_with(folder + "/");
}

std::string shown(std::string_view path) {
  return utf8::excerpt(path, 300);
}

std::string last_part(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return std::string(path.substr(path.find_last_of('/') + 1));
}

}  // namespace

const Found* Catalogue::find(std::string_view name) const {
  for (const auto& found : skills)
    if (found.skill.name == name) return &found;
  return nullptr;
}

std::vector<const Found*> look_for(const Catalogue& catalogue, std::string_view words) {
  std::vector<std::string> wanted;
  auto rest = utf8::single_line(utf8::lower_ascii(words));
  for (std::size_t at = 0; at < rest.size();) {
    const auto end = std::min(rest.find(' ', at), rest.size());
    wanted.push_back(rest.substr(at, end - at));
    at = end + 1;
  }
  std::vector<const Found*> out;
  for (const auto& found : catalogue.skills) {
    const auto text = utf8::lower_ascii(found.skill.name + " " + found.skill.description);
    if (std::all_of(wanted.begin(), wanted.end(),
                    [&](const auto& word) { return text.find(word) != std::string::npos; }))
      out.push_back(&found);
  }
  return out;
}

struct Shelf::Walk {
  Catalogue& out;
  const std::string root;  // as configured
  const std::string real;  // with links resolved
  std::size_t folders = 0;
  std::set<std::string> seen = {};  // real paths, because links may lead to one place twice

  void problem(std::string text) {
    if (out.problems.size() < kProblemsMax) out.problems.push_back(std::move(text));
  }
};

Catalogue Shelf::look(const std::vector<std::string>& roots) {
  const std::lock_guard lock(mutex_);
  if (known_.size() > kKnownMax) known_.clear();
  Catalogue out;
  for (const auto& root : roots) {
    const auto real = real_path(root);
    const auto stat = real ? files_.stat_path(*real) : Error(Errc::not_found, "");
    Walk walk{out, root, real.value_or("")};
    if (stat && stat->directory) {
      visit(walk, *real, 0);
    } else if (&root != &roots.front()) {
      walk.problem(fmt::format("{}: there is no such folder", shown(root)));
    }
  }
  std::stable_sort(out.skills.begin(), out.skills.end(),
                   [](const auto& a, const auto& b) { return a.skill.name < b.skill.name; });
  return out;
}

void Shelf::visit(Walk& walk, const std::string& folder, std::size_t depth) {
  if (!walk.seen.insert(folder).second) return;
  if (++walk.folders > kFoldersMax) {
    if (walk.folders == kFoldersMax + 1)
      walk.problem(fmt::format("{}: has more than {} folders; the rest is not looked at",
                               shown(walk.root), kFoldersMax));
    return;
  }
  auto names = files_.list(folder);
  if (!names) {
    walk.problem(names.error().what);
    return;
  }
  std::sort(names->begin(), names->end());
  for (const auto* name : {"SKILL.md", "skill.md"}) {
    if (!std::binary_search(names->begin(), names->end(), name)) continue;
    const auto file = folder + "/" + name;
    auto skill = read(folder, name, false);
    if (!skill) {
      walk.problem(fmt::format("{}: {}", shown(file), skill.error().what));
    } else if (const auto* first = walk.out.find(skill->name)) {
      walk.problem(fmt::format("{}: there is a skill '{}' already, in {}; this one is left out",
                               shown(file), skill->name, shown(first->file)));
    } else {
      walk.out.skills.push_back(Found{*std::move(skill), file, folder, walk.root});
    }
    // Everything below a skill's folder belongs to the skill.
    return;
  }
  for (const auto& name : *names) {
    if (name.starts_with('.')) continue;
    const auto path = folder + "/" + name;
    const auto stat = files_.stat_path(path);
    if (!stat || !stat->directory) continue;
    const auto real = real_path(path);
    if (!real) continue;
    if (!within(walk.real, *real)) {
      walk.problem(
          fmt::format("{}: is a link that leads out of {}; name the folder it leads to "
                      "under [skills] paths",
                      shown(path), shown(walk.root)));
    } else if (depth + 1 > kDepthMax) {
      walk.problem(fmt::format("{}: lies more than {} folders deep; it is not looked at",
                               shown(path), kDepthMax));
    } else {
      visit(walk, *real, depth + 1);
    }
  }
}

Result<Skill> Shelf::read(const std::string& folder, const std::string& name, bool again) {
  const auto path = folder + "/" + name;
  REEF_TRY(const auto file, open_beneath(folder, name));
  REEF_TRY(const auto stat, files_.stat(file.get()));
  const auto known = known_.find(path);
  if (!again && known != known_.end() && known->second.size == stat.size &&
      known->second.modified_ns == stat.modified_ns)
    return known->second.skill;
  if (stat.size > kFileBytesMax)
    return Error(Errc::too_large, fmt::format("has more than {} KiB", kFileBytesMax >> 10));
  REEF_TRY(const auto text, read_range(files_, file.get(), 0, stat.size));
  auto skill = parse_skill(text, last_part(folder));
  known_.insert_or_assign(path, Known{stat.size, stat.modified_ns, skill});
  return skill;
}

Result<Found> Shelf::load(const std::vector<std::string>& roots, std::string_view name) {
  const auto catalogue = look(roots);
  const auto* found = catalogue.find(name);
  if (!found)
    return Error(Errc::not_found, fmt::format("there is no skill '{}'", utf8::excerpt(name)));
  const std::lock_guard lock(mutex_);
  auto fresh = read(found->folder, last_part(found->file), true);
  if (!fresh) return std::move(fresh).error().with(shown(found->file));
  if (fresh->name != name)
    return Error(Errc::not_found, fmt::format("there is no skill '{}'", utf8::excerpt(name)));
  return Found{*std::move(fresh), found->file, found->folder, found->root};
}

std::vector<std::string> Shelf::bundled(const Found& found) const {
  std::vector<std::string> out;
  struct Next {
    std::string path;  // below the folder, with a slash at the end; empty for the folder itself
    std::size_t depth;
  };
  std::vector<Next> left{{"", 0}};
  std::size_t folders = 0;
  while (!left.empty() && out.size() < kBundledMax && ++folders <= kFoldersMax) {
    const auto next = left.back();
    left.pop_back();
    auto names = files_.list(found.folder + "/" + next.path);
    if (!names) continue;
    std::sort(names->begin(), names->end());
    std::vector<Next> below;
    for (const auto& name : *names) {
      if (name.starts_with('.') || !utf8::valid(name)) continue;
      const auto path = next.path + name;
      if (found.folder + "/" + path == found.file) continue;
      const auto real = real_path(found.folder + "/" + path);
      if (!real || !within(found.folder, *real)) continue;
      const auto stat = files_.stat_path(*real);
      if (stat && stat->regular && out.size() < kBundledMax) out.push_back(path);
      if (stat && stat->directory && next.depth + 1 < kBundledDepthMax)
        below.push_back({path + "/", next.depth + 1});
    }
    left.insert(left.end(), below.rbegin(), below.rend());
  }
  std::sort(out.begin(), out.end());
  return out;
}

Result<std::string> Shelf::read_bundled(const Found& found, const std::string& path) const {
  auto file = open_beneath(found.folder, path);
  if (!file) return std::move(file).error().with(found.skill.name);
  REEF_TRY(const auto stat, files_.stat(file->get()));
  if (stat.size > kBundledBytesMax)
    return Error(Errc::too_large, fmt::format("'{}' has {} bytes; at most {} are read",
                                              utf8::excerpt(path), stat.size, kBundledBytesMax));
  REEF_TRY(auto text, read_range(files_, file->get(), 0, stat.size));
  if (!utf8::valid(text) || text.find('\0') != std::string::npos)
    return Error(Errc::unsupported, fmt::format("'{}' is no text", utf8::excerpt(path)));
  return text;
}

}  // namespace reef::skills
