#include "memory/dump.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/json.h"
#include "base/utf8.h"
#include "memory/card.h"
#include "memory/operations.h"

namespace reef::memory {
namespace {

struct Section {
  Kind kind;
  std::string_view folder;
  std::string_view title;
};
constexpr std::array<Section, 3> kSections{Section{Kind::note, "notes", "Notes"},
                                           Section{Kind::archive, "archives", "Archives"},
                                           Section{Kind::topic, "topics", "Topics"}};
constexpr std::string_view kEnding = ".md";
constexpr std::string_view kSummary = "SUMMARY.md";
constexpr std::string_view kState = "memory.json";
constexpr std::string_view kBook = "book.toml";
constexpr std::string_view kBookSeed = "[book]\ntitle = \"Memory\"\nsrc = \".\"\n";
constexpr std::size_t kStemBytesMax = 200;
// More is not a dump of ours, and would not be taken back.
constexpr std::uint64_t kTreeBytesMax = 2 * kMemoryBytesMax;

// A file name for any name: what it must not hold is %XX, and what is too long is cut and gets the
// id. '%' itself is escaped, so no two names meet.
std::string stem_of(const Entry& entry) {
  const std::string_view name = entry.name;
  std::string stem;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    const auto byte = static_cast<unsigned char>(c);
    const bool last = i + 1 == name.size();
    const bool unsafe = byte < 0x20 || byte == 0x7f || c == '/' || c == '\\' || c == '%' ||
                        (c == '.' && (i == 0 || last || name[i + 1] == '.')) || (c == ' ' && last);
    if (unsafe) {
      stem += fmt::format("%{:02X}", byte);
    } else {
      stem.push_back(c);
    }
  }
  if (stem.empty() || stem.size() > kStemBytesMax)
    stem = fmt::format("{}%id{}", utf8::prefix(stem, kStemBytesMax - 32), entry.id);
  return stem;
}

// For a link in Markdown.
std::string percent_encoded(std::string_view path) {
  std::string out;
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.' || c == '/' || c == '~';
    if (plain) {
      out.push_back(c);
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

std::string link_text(std::string_view name) {
  std::string out;
  for (const char c : utf8::single_line(utf8::printable(name))) {
    if (std::string_view("\\[]<>*_`&").find(c) != std::string_view::npos) out.push_back('\\');
    out.push_back(c);
  }
  return out;
}

std::string path_of(const Section& section, const Entry& entry) {
  return fmt::format("{}/{}{}", section.folder, stem_of(entry), kEnding);
}

std::string summary_of(const Contents& contents) {
  std::string out = "# Summary\n";
  for (const auto& section : kSections) {
    std::map<std::string_view, const Entry*> by_name;
    for (const auto& entry : contents.entries)
      if (entry->kind == section.kind) by_name.emplace(entry->name, entry.get());
    if (by_name.empty()) continue;
    out += fmt::format("\n# {}\n\n", section.title);
    for (const auto& [name, entry] : by_name)
      out +=
          fmt::format("- [{}]({})\n", link_text(name), percent_encoded(path_of(section, *entry)));
  }
  return out;
}

// Everything an entry goes by, and those who do.
using Owners = std::map<std::string, std::vector<const Entry*>, std::less<>>;
Owners owners_of(const Contents& contents) {
  Owners owners;
  for (const auto& entry : contents.entries) {
    owners[entry->name].push_back(entry.get());
    for (const auto& alias : entry->aliases) owners[alias].push_back(entry.get());
  }
  return owners;
}

// What cards have no place for.
struct State {
  std::optional<std::uint64_t> next_id;
  // Names of several entries: they came with a file of CrabTalk, which does not look.
  std::set<std::string, std::less<>> shared;
};

std::string write_state(const Contents& contents) {
  json::array shared;
  for (const auto& [name, owners] : owners_of(contents))
    if (owners.size() > 1) shared.emplace_back(name);
  json::object state{{"nextId", contents.next_id}};
  if (!shared.empty()) state["sharedNames"] = std::move(shared);
  return json::write(state) + "\n";
}

Result<State> parse_state(std::string_view text) {
  REEF_TRY(const auto parsed, json::parse(text));
  State state;
  if (!parsed.is_object()) return Error(Errc::invalid, "not a JSON object");
  const auto& object = parsed.get_object();
  if (const auto* next = object.if_contains("nextId")) {
    if (next->is_uint64()) {
      state.next_id = next->get_uint64();
    } else if (next->is_int64() && next->get_int64() >= 0) {
      state.next_id = static_cast<std::uint64_t>(next->get_int64());
    } else {
      return Error(Errc::invalid, "nextId is not a number");
    }
  }
  if (const auto* shared = json::find_array(object, "sharedNames"))
    for (const auto& name : *shared)
      if (name.is_string()) state.shared.emplace(name.get_string());
  return state;
}

// The section a path is in, and the file's name without its ending.
struct Place {
  const Section* section;
  std::string_view stem;
};
std::optional<Place> place_of(std::string_view path) {
  for (const auto& section : kSections) {
    auto name = path;
    if (!name.starts_with(section.folder)) continue;
    name.remove_prefix(section.folder.size());
    if (!name.starts_with('/') || !name.ends_with(kEnding)) continue;
    name = name.substr(1, name.size() - 1 - kEnding.size());
    // Editors leave their own files beside; ours never start with a dot.
    if (name.empty() || name.front() == '.' || name.find('/') != std::string_view::npos) continue;
    return Place{&section, name};
  }
  return std::nullopt;
}

// An entry and the file that says it.
struct Told {
  Entry entry;
  std::string_view path;
  bool fresh = false;  // has no id yet
};

Result<Told> told_by(const TreeFile& file, const Place& place, std::uint64_t now) {
  REEF_TRY(auto card, parse_card(file.bytes));
  Told told;
  told.path = file.path;
  told.fresh = !card.id;
  told.entry.id = card.id.value_or(0);
  told.entry.created_at = card.created_at.value_or(now);
  told.entry.kind = place.section->kind;
  told.entry.name = card.name ? *std::move(card.name) : std::string(place.stem);
  told.entry.content = std::move(card.content);
  told.entry.aliases = std::move(card.aliases);
  if (!utf8::valid(told.entry.name))
    return Error(Errc::invalid, "the file's name is not valid UTF-8");
  if (told.fresh) {
    REEF_CHECK(check_name("name", told.entry.name));
    for (const auto& alias : told.entry.aliases) REEF_CHECK(check_name("alias", alias));
  }
  return told;
}

Status check_ids(const std::vector<Told>& all) {
  std::map<std::uint64_t, std::string_view> seen;
  for (const auto& told : all) {
    if (told.fresh) continue;
    const auto [other, added] = seen.emplace(told.entry.id, told.path);
    if (!added)
      return Error(Errc::invalid, fmt::format("{} and {} have the same Id {}; a new entry has none",
                                              utf8::excerpt(other->second),
                                              utf8::excerpt(told.path), told.entry.id));
  }
  return Ok{};
}

Status check_names(const std::vector<Told>& all, const State& state) {
  std::map<std::string_view, std::string_view> names;
  for (const auto& told : all) {
    const auto [other, added] = names.emplace(told.entry.name, told.path);
    if (!added)
      return Error(Errc::invalid,
                   fmt::format("{} and {} are both named '{}'", utf8::excerpt(other->second),
                               utf8::excerpt(told.path), utf8::excerpt(told.entry.name)));
  }
  auto owners = names;
  for (const auto& told : all) {
    for (const auto& alias : told.entry.aliases) {
      const auto [other, added] = owners.emplace(alias, told.path);
      if (!added && !state.shared.contains(alias))
        return Error(Errc::invalid,
                     fmt::format("{}: alias '{}' is taken by {}", utf8::excerpt(told.path),
                                 utf8::excerpt(alias), utf8::excerpt(other->second)));
    }
  }
  return Ok{};
}

// Entries without an id follow those that have one.
Status give_ids(std::vector<Told>& all, const State& state, std::uint64_t& next_id) {
  std::uint64_t newest = 0;
  for (const auto& told : all)
    if (!told.fresh) newest = std::max(newest, told.entry.id);
  constexpr auto kLast = std::numeric_limits<std::uint64_t>::max();
  next_id = state.next_id.value_or(newest < kLast ? newest + 1 : kLast);
  for (auto& told : all) {
    if (!told.fresh) continue;
    if (newest == kLast || next_id == kLast)
      return Error(Errc::invalid, "there are no more ids for new entries");
    newest = std::max(next_id, newest + 1);
    told.entry.id = newest;
    next_id = newest + 1;
  }
  return Ok{};
}

}  // namespace

std::vector<TreeFile> to_tree(const Contents& contents) {
  std::vector<TreeFile> tree;
  for (const auto& section : kSections) {
    for (const auto& entry : contents.entries) {
      if (entry->kind != section.kind) continue;
      const bool with_name = stem_of(*entry) != entry->name;
      tree.push_back({path_of(section, *entry), write_card(*entry, with_name)});
    }
  }
  tree.push_back({std::string(kSummary), summary_of(contents)});
  tree.push_back({std::string(kState), write_state(contents)});
  return tree;
}

Result<Contents> from_tree(const std::vector<TreeFile>& files, std::uint64_t now) {
  State state;
  std::vector<Told> all;
  for (const auto& file : files) {
    if (file.path == kState) {
      auto parsed = parse_state(file.bytes);
      if (!parsed) return std::move(parsed).error().with(file.path);
      state = *std::move(parsed);
    }
    const auto place = place_of(file.path);
    if (!place) continue;
    auto told = told_by(file, *place, now);
    if (!told) return std::move(told).error().with(utf8::excerpt(file.path, 300));
    all.push_back(*std::move(told));
  }
  REEF_CHECK(check_ids(all));
  REEF_CHECK(check_names(all, state));
  Contents contents;
  REEF_CHECK(give_ids(all, state, contents.next_id));
  for (auto& told : all)
    contents.entries.push_back(std::make_shared<const Entry>(std::move(told.entry)));
  std::sort(contents.entries.begin(), contents.entries.end(),
            [](const EntryPtr& a, const EntryPtr& b) { return a->id < b->id; });
  return contents;
}

namespace {

bool exists(Files& files, const std::string& path) {
  return files.stat_path(path).ok();
}

// Whole or not at all, and untouched when it says the same already.
Status put_file(Files& files, const std::string& path, std::string_view bytes) {
  if (const auto there = read_all(files, path); there && *there == bytes) return Ok{};
  const auto temp = path + ".tmp";
  static_cast<void>(files.remove(temp).ok());
  {
    REEF_TRY(const Fd fd, files.open(temp, Files::Open::create));
    auto written = write_all(files, fd.get(), bytes);
    if (!written) {
      static_cast<void>(files.remove(temp).ok());
      return std::move(written).error().with("write " + path);
    }
  }
  return files.rename(temp, path);
}

// The entries' files in a section's folder; none when there is no folder.
Result<std::vector<std::string>> list_section(Files& files, const std::string& root,
                                              const Section& section) {
  const auto folder = fmt::format("{}/{}", root, section.folder);
  auto names = files.list(folder);
  if (!names && names.error().code == Errc::not_found) return std::vector<std::string>();
  if (!names) return std::move(names).error();
  std::vector<std::string> paths;
  for (const auto& name : *names) {
    auto path = fmt::format("{}/{}", section.folder, name);
    REEF_TRY(const auto stat, files.stat_path(root + "/" + path));
    if (stat.directory)
      return Error(Errc::invalid, fmt::format("{} is a folder; entries are files right in {}/",
                                              utf8::excerpt(path, 300), section.folder));
    if (place_of(path)) paths.push_back(std::move(path));
  }
  return paths;
}

}  // namespace

Status write_tree(Files& files, const std::string& folder, const Contents& contents) {
  REEF_CHECK(make_directories(files, folder));
  const bool ours = exists(files, fmt::format("{}/{}", folder, kState)) ||
                    exists(files, fmt::format("{}/{}", folder, kSummary));
  std::set<std::string> old;
  for (const auto& section : kSections) {
    const auto path = fmt::format("{}/{}", folder, section.folder);
    if (!ours && exists(files, path))
      return Error(Errc::conflict,
                   fmt::format("{} is there, and no dump made it; choose another folder", path));
    REEF_TRY(auto paths, list_section(files, folder, section));
    old.insert(paths.begin(), paths.end());
  }
  // New files first and old ones gone last: whatever happens in between, every entry is there.
  const auto tree = to_tree(contents);
  for (const auto& file : tree) {
    const auto slash = file.path.find('/');
    if (slash != std::string::npos)
      REEF_CHECK(make_directories(files, folder + "/" + file.path.substr(0, slash)));
    REEF_CHECK(put_file(files, folder + "/" + file.path, file.bytes));
    old.erase(file.path);
  }
  for (const auto& path : old) REEF_CHECK(files.remove(folder + "/" + path));
  const auto book = fmt::format("{}/{}", folder, kBook);
  if (!exists(files, book)) REEF_CHECK(put_file(files, book, kBookSeed));
  REEF_TRY(const Fd fd, files.open(book, Files::Open::read));
  return files.sync_filesystem(fd.get());
}

Result<std::vector<TreeFile>> read_tree(Files& files, const std::string& folder) {
  std::vector<std::string> paths;
  bool found = exists(files, fmt::format("{}/{}", folder, kState));
  if (found) paths.emplace_back(kState);
  for (const auto& section : kSections) {
    found = found || exists(files, fmt::format("{}/{}", folder, section.folder));
    REEF_TRY(auto in_section, list_section(files, folder, section));
    paths.insert(paths.end(), in_section.begin(), in_section.end());
  }
  if (!found)
    return Error(Errc::not_found,
                 folder + " is no dump of a memory: it has no notes/, archives/ or topics/");
  std::vector<TreeFile> tree;
  std::uint64_t total = 0;
  for (const auto& path : paths) {
    REEF_TRY(const auto stat, files.stat_path(folder + "/" + path));
    total += stat.size;
    if (total > kTreeBytesMax)
      return Error(Errc::too_large, fmt::format("{}: more than {} bytes", folder, kTreeBytesMax));
    REEF_TRY(auto bytes, read_all(files, folder + "/" + path));
    tree.push_back({path, std::move(bytes)});
  }
  return tree;
}

}  // namespace reef::memory
