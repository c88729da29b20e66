#include "memory/dump.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>

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
constexpr std::string_view kTemp = ".tmp";
constexpr std::string_view kSummary = "SUMMARY.md";
constexpr std::string_view kState = "memory.json";
constexpr std::string_view kBook = "book.toml";
constexpr std::string_view kBookSeed = "[book]\ntitle = \"Memory\"\nsrc = \".\"\n";
constexpr std::size_t kStemBytesMax = 200;
// A larger tree is not a dump of ours, and a load would refuse it.
constexpr std::uint64_t kTreeBytesMax = 2 * kMemoryBytesMax;

// Makes a file name from any name: bytes that it must not contain become %XX, and a name that is
// too long is cut and gets the id. '%' itself is escaped, so no two names collide.
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

// Encodes a path for a link in Markdown.
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

// All names and aliases, and the entries that have them.
using Owners = std::map<std::string, std::vector<const Entry*>, std::less<>>;
Owners owners_of(const Contents& contents) {
  Owners owners;
  for (const auto& entry : contents.entries) {
    owners[entry->name].push_back(entry.get());
    for (const auto& alias : entry->aliases) owners[alias].push_back(entry.get());
  }
  return owners;
}

// The state that cards have no place for.
struct State {
  std::optional<std::uint64_t> next_id;
  // Names of several entries: a file of CrabTalk may have these, because it does not check.
  std::set<std::string, std::less<>> shared;
  std::vector<std::uint64_t> order;  // Contents::order
};

std::string write_state(const Contents& contents) {
  json::array shared;
  for (const auto& [name, owners] : owners_of(contents))
    if (owners.size() > 1) shared.emplace_back(name);
  json::object state{{"nextId", contents.next_id}};
  if (!shared.empty()) state["sharedNames"] = std::move(shared);
  if (!contents.order.empty()) {
    json::array order;
    for (const auto& entry : in_file_order(contents)) order.emplace_back(entry->id);
    state["order"] = std::move(order);
  }
  return json::write(state) + "\n";
}

std::optional<std::uint64_t> number_in(const json::value& value) {
  if (value.is_uint64()) return value.get_uint64();
  if (value.is_int64() && value.get_int64() >= 0)
    return static_cast<std::uint64_t>(value.get_int64());
  return std::nullopt;
}

Result<State> parse_state(std::string_view text) {
  REEF_TRY(const auto parsed, json::parse(text));
  State state;
  if (!parsed.is_object()) return Error(Errc::invalid, "not a JSON object");
  const auto& object = parsed.get_object();
  if (const auto* next = object.if_contains("nextId")) {
    state.next_id = number_in(*next);
    if (!state.next_id) return Error(Errc::invalid, "nextId is not a number");
  }
  if (const auto* shared = json::find_array(object, "sharedNames"))
    for (const auto& name : *shared)
      if (name.is_string()) state.shared.emplace(name.get_string());
  if (const auto* order = json::find_array(object, "order"))
    for (const auto& id : *order) {
      const auto number = number_in(id);
      if (!number) return Error(Errc::invalid, "order is not a list of ids");
      state.order.push_back(*number);
    }
  return state;
}

// The section that a path belongs to, and the file's name without its extension.
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
    // Editors leave their own files here; ours never start with a dot.
    if (name.empty() || name.front() == '.' || name.find('/') != std::string_view::npos) continue;
    return Place{&section, name};
  }
  return std::nullopt;
}

// An entry and the file it was read from.
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
  // An entry with an id may be in the memory already, so the memory checks what is new about it.
  if (told.fresh) REEF_CHECK(check_new(told.entry));
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

// Gives ids to the new entries, above all existing ids.
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
  // The state comes first, so that a dump that was interrupted is recognised as one.
  std::vector<TreeFile> tree{{std::string(kState), write_state(contents)}};
  for (const auto& section : kSections) {
    for (const auto& entry : contents.entries) {
      if (entry->kind != section.kind) continue;
      const bool with_name = stem_of(*entry) != entry->name;
      tree.push_back({path_of(section, *entry), write_card(*entry, with_name)});
    }
  }
  tree.push_back({std::string(kSummary), summary_of(contents)});
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
  contents.order = std::move(state.order);
  return contents;
}

namespace {

bool exists(Files& files, const std::string& path) {
  return files.stat_path(path).ok();
}

Status put_temp(Files& files, const std::string& temp, std::string_view bytes) {
  REEF_TRY(const Fd fd, files.open(temp, Files::Open::create));
  return write_all(files, fd.get(), bytes);
}

// Writes the file atomically, or leaves it untouched when it has these bytes already.
Status put_file(Files& files, const std::string& path, std::string_view bytes) {
  if (const auto there = read_all(files, path); there && *there == bytes) return Ok{};
  const auto temp = path + std::string(kTemp);
  static_cast<void>(files.remove(temp).ok());
  auto put = put_temp(files, temp, bytes);
  if (put) put = files.rename(temp, path);
  if (put) return put;
  static_cast<void>(files.remove(temp).ok());
  return std::move(put).error().with("write " + path);
}

// Lists the files in a section's folder; empty when there is no folder.
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
    paths.push_back(std::move(path));
  }
  return paths;
}

// The error for a file that no dump made but that this dump would have to replace or remove.
Error no_dumps(const std::string& folder, std::string_view path, std::string_view why) {
  return Error(Errc::conflict,
               fmt::format("{}/{}: no dump made it ({}); move it away or choose another folder",
                           folder, utf8::excerpt(path, 300), why));
}

// A file too large to be a dump's is not read.
Result<std::string> read_bounded(Files& files, const std::string& folder, std::string_view path) {
  const auto full = fmt::format("{}/{}", folder, path);
  REEF_TRY(const auto stat, files.stat_path(full));
  if (stat.size > kTreeBytesMax) return no_dumps(folder, path, "it is too large");
  return read_all(files, full);
}

// True when the text has nothing but headings of the sections and links to their files, like a dump
// of ours or of CrabTalk, which once had prompts, too.
bool is_summary(std::string_view text) {
  const auto is_heading = [](std::string_view line) {
    for (const auto* title : {"Summary", "Prompts"})
      if (line == title) return true;
    return std::any_of(kSections.begin(), kSections.end(),
                       [&](const Section& section) { return line == section.title; });
  };
  const auto is_link = [](std::string_view line) {
    const auto leads_to = [&](std::string_view section) {
      return line.find(fmt::format("]({}/", section)) != std::string_view::npos;
    };
    return line.starts_with("- [") && line.ends_with(".md)") &&
           (leads_to("prompts") ||
            std::any_of(kSections.begin(), kSections.end(),
                        [&](const Section& section) { return leads_to(section.folder); }));
  };
  while (!text.empty()) {
    auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.ends_with('\r')) line.remove_suffix(1);
    const bool heading = line.starts_with("# ") && is_heading(line.substr(2));
    if (!line.empty() && !heading && !is_link(line)) return false;
  }
  return true;
}

// Tells whether a dump marked the folder as its own. Fails with conflict when a marker's file has
// other content.
Result<bool> is_marked(Files& files, const std::string& folder) {
  if (exists(files, fmt::format("{}/{}", folder, kState))) {
    REEF_TRY(const auto bytes, read_bounded(files, folder, kState));
    const auto state = parse_state(bytes);
    if (!state || !state->next_id) return no_dumps(folder, kState, "it has no nextId");
    return true;
  }
  if (!exists(files, fmt::format("{}/{}", folder, kSummary))) return false;
  REEF_TRY(const auto bytes, read_bounded(files, folder, kSummary));
  if (!is_summary(bytes)) return no_dumps(folder, kSummary, "it has more than links to entries");
  return true;
}

// A dump may remove an entry's file when its card shows that a dump made it, or when the memory
// already holds its content.
Status check_entry_file(const std::string& folder, const TreeFile& file, const Place& place,
                        const std::unordered_map<std::string_view, const Entry*>& by_name) {
  auto card = parse_card(file.bytes);
  if (!card) return no_dumps(folder, file.path, card.error().what);
  if (card->created_at) return Ok{};
  const auto known = by_name.find(card->name ? std::string_view(*card->name) : place.stem);
  if (known != by_name.end() && known->second->kind == place.section->kind &&
      known->second->content == card->content)
    return Ok{};
  return no_dumps(folder, file.path, "it has no card, and no load has taken it in");
}

// Returns the entries' files that a dump may replace. Fails with conflict, naming the file, when
// one was not made by a dump.
Result<std::set<std::string>> replaceable(Files& files, const std::string& folder,
                                          const Contents& contents) {
  REEF_TRY(const bool marked, is_marked(files, folder));
  std::unordered_map<std::string_view, const Entry*> by_name;
  for (const auto& entry : contents.entries) by_name.emplace(entry->name, entry.get());
  std::set<std::string> old;
  for (const auto& section : kSections) {
    REEF_TRY(auto paths, list_section(files, folder, section));
    for (auto& path : paths) {
      const auto place = place_of(path);
      // Other files beside the entries, such as pictures, belong to the person and stay.
      if (!place && marked) continue;
      if (!place) return no_dumps(folder, path, "it is no entry");
      REEF_TRY(auto bytes, read_bounded(files, folder, path));
      REEF_CHECK(check_entry_file(folder, {path, std::move(bytes)}, *place, by_name));
      old.insert(std::move(path));
    }
  }
  return old;
}

// A folder or a device may stand where a file must go. Finding out halfway would leave a tree that
// mixes two dumps, so all places are checked first.
Status check_places(Files& files, const std::string& folder, const std::vector<TreeFile>& tree) {
  for (const auto& file : tree) {
    for (const auto& path : {file.path, file.path + std::string(kTemp)}) {
      const auto there = files.stat_path(fmt::format("{}/{}", folder, path));
      if (!there || there->regular) continue;
      return no_dumps(folder, path, there->directory ? "it is a folder" : "it is no file");
    }
  }
  return Ok{};
}

}  // namespace

Status write_tree(Files& files, const std::string& folder, const Contents& contents) {
  const auto tree = to_tree(contents);
  REEF_CHECK(check_places(files, folder, tree));
  REEF_TRY(auto old, replaceable(files, folder, contents));
  REEF_CHECK(make_directories(files, folder));
  // New files are written first and old ones removed last, so that every entry exists at any
  // moment.
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
    std::copy_if(in_section.begin(), in_section.end(), std::back_inserter(paths),
                 [](const std::string& path) { return place_of(path).has_value(); });
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
