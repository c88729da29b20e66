#include "memory/operations.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "base/overload.h"
#include "base/utf8.h"

namespace reef::memory {

Error no_entry(std::string_view name) {
  return Error(Errc::not_found, fmt::format("no entry named '{}'", utf8::excerpt(name)));
}

namespace {

Result<std::size_t> place_of(const Contents& contents, std::string_view name) {
  const auto found = contents.find(name);
  if (!found) return no_entry(name);
  const auto at = std::find(contents.entries.begin(), contents.entries.end(), found);
  return static_cast<std::size_t>(at - contents.entries.begin());
}

// Checks that no entry but `own` has the name.
Status check_free(const Contents& contents, std::string_view name, const Entry* own) {
  const auto owner = contents.find(name);
  if (!owner || owner.get() == own) return Ok{};
  if (owner->name == name)
    return Error(Errc::conflict, fmt::format("there is an entry named '{}' already, a {}",
                                             utf8::excerpt(name), name_of(owner->kind)));
  return Error(Errc::conflict, fmt::format("'{}' is an alias of '{}' already", utf8::excerpt(name),
                                           utf8::excerpt(owner->name)));
}

Status check_content(std::string_view content) {
  if (content.size() > kContentBytesMax)
    return Error(Errc::too_large,
                 fmt::format("an entry's content has at most {} bytes, this one {}",
                             kContentBytesMax, content.size()));
  if (!utf8::valid(content)) return Error(Errc::invalid, "the content is not valid UTF-8");
  return Ok{};
}

Status check_alias_count(std::size_t count) {
  if (count <= kAliasesMax) return Ok{};
  return Error(Errc::too_large,
               fmt::format("an entry has at most {} aliases, this one {}", kAliasesMax, count));
}

// Gives the entry these aliases, each once and without its own name.
Status set_aliases(const Contents& contents, Entry& entry, const std::vector<std::string>& aliases,
                   const Entry* own) {
  std::vector<std::string> kept;
  for (const auto& alias : aliases) {
    if (alias == entry.name || std::find(kept.begin(), kept.end(), alias) != kept.end()) continue;
    // Its present aliases were checked before, or came in a foreign file.
    const bool had =
        own && std::find(own->aliases.begin(), own->aliases.end(), alias) != own->aliases.end();
    if (!had) {
      REEF_CHECK(check_name("alias", alias));
      REEF_CHECK(check_free(contents, alias, own));
    }
    kept.push_back(alias);
  }
  REEF_CHECK(check_alias_count(kept.size()));
  entry.aliases = std::move(kept);
  return Ok{};
}

// Puts the changed entry in the place of the old one, if it fits into the memory.
Result<EntryPtr> replace(Contents& contents, std::size_t at, Entry entry) {
  const auto before = serialized_bytes(contents);
  auto fresh = std::make_shared<const Entry>(std::move(entry));
  const auto old = std::exchange(contents.entries[at], fresh);
  const auto after = serialized_bytes(contents);
  if (after > kMemoryBytesMax && after > before) {
    contents.entries[at] = old;
    return Error(
        Errc::too_large,
        fmt::format("the memory would have {} bytes, at most {} are kept; forget something", after,
                    kMemoryBytesMax));
  }
  return fresh;
}

// Returns an unused id, even when the file's next_id lags behind.
Result<std::uint64_t> fresh_id(const Contents& contents) {
  constexpr auto kLast = std::numeric_limits<std::uint64_t>::max();
  const auto newest = contents.entries.empty() ? 0 : contents.entries.back()->id;
  if (newest == kLast || contents.next_id == kLast)
    return Error(Errc::too_large, "the memory has no more ids");
  return std::max(contents.next_id, newest + 1);
}

Result<EntryPtr> add(Contents& contents, const Add& op, std::uint64_t now) {
  REEF_CHECK(check_name("name", op.name));
  REEF_CHECK(check_free(contents, op.name, nullptr));
  REEF_CHECK(check_content(op.content));
  if (contents.entries.size() >= kEntriesMax)
    return Error(Errc::too_large, fmt::format("a memory has at most {} entries", kEntriesMax));
  Entry entry;
  REEF_TRY(entry.id, fresh_id(contents));
  entry.created_at = op.created_at == 0 ? now : op.created_at;
  entry.kind = op.kind;
  entry.name = op.name;
  entry.content = op.content;
  REEF_CHECK(set_aliases(contents, entry, op.aliases, nullptr));
  const auto id = entry.id;
  contents.entries.emplace_back(std::make_shared<const Entry>());
  auto added = replace(contents, contents.entries.size() - 1, std::move(entry));
  if (!added) {
    contents.entries.pop_back();
    return added;
  }
  contents.next_id = id + 1;
  return added;
}

Result<EntryPtr> write(Contents& contents, const Write& op) {
  REEF_TRY(const auto at, place_of(contents, op.name));
  REEF_CHECK(check_content(op.content));
  const auto old = contents.entries[at];
  Entry entry = *old;
  entry.content = op.content;
  if (op.aliases) REEF_CHECK(set_aliases(contents, entry, *op.aliases, old.get()));
  return replace(contents, at, std::move(entry));
}

Result<EntryPtr> rename(Contents& contents, const Rename& op) {
  REEF_TRY(const auto at, place_of(contents, op.name));
  REEF_CHECK(check_name("name", op.to));
  const auto old = contents.entries[at];
  REEF_CHECK(check_free(contents, op.to, old.get()));
  Entry entry = *old;
  entry.name = op.to;
  std::erase(entry.aliases, op.to);
  if (entry.kind == Kind::archive && old->name != op.to) entry.aliases.push_back(old->name);
  return replace(contents, at, std::move(entry));
}

Result<EntryPtr> alias(Contents& contents, const Alias& op) {
  REEF_TRY(const auto at, place_of(contents, op.name));
  const auto old = contents.entries[at];
  Entry entry = *old;
  auto aliases = old->aliases;
  for (const auto& unwanted : op.remove)
    if (std::erase(aliases, unwanted) == 0)
      return Error(Errc::not_found, fmt::format("'{}' is no alias of '{}'", utf8::excerpt(unwanted),
                                                utf8::excerpt(old->name)));
  aliases.insert(aliases.end(), op.add.begin(), op.add.end());
  REEF_CHECK(set_aliases(contents, entry, aliases, old.get()));
  return replace(contents, at, std::move(entry));
}

Result<EntryPtr> remove(Contents& contents, std::string_view name) {
  REEF_TRY(const auto at, place_of(contents, name));
  auto gone = contents.entries[at];
  contents.entries.erase(contents.entries.begin() + static_cast<std::ptrdiff_t>(at));
  // Its id must not be used again.
  if (gone->id < std::numeric_limits<std::uint64_t>::max())
    contents.next_id = std::max(contents.next_id, gone->id + 1);
  return gone;
}

Status check_note(const Entry& entry) {
  if (entry.kind == Kind::note) return Ok{};
  return Error(Errc::denied, fmt::format("'{}' ({}) is not a note: it is kept as it is",
                                         utf8::excerpt(entry.name), name_of(entry.kind)));
}

Result<EntryPtr> remember(Contents& contents, const Remember& op, std::uint64_t now) {
  const auto old = contents.find(op.name);
  if (!old)
    return add(
        contents,
        Add{op.name, op.content, op.aliases.value_or(std::vector<std::string>()), Kind::note}, now);
  REEF_CHECK(check_note(*old));
  return write(contents, Write{op.name, op.content, op.aliases});
}

Result<EntryPtr> forget(Contents& contents, const Forget& op) {
  const auto old = contents.find(op.name);
  if (!old) return no_entry(op.name);
  REEF_CHECK(check_note(*old));
  return remove(contents, op.name);
}

// Counts how many entries have each name or alias.
using Bearers = std::unordered_map<std::string_view, std::size_t>;
Bearers bearers_of(const Contents& contents) {
  Bearers bearers;
  for (const auto& entry : contents.entries) {
    ++bearers[entry->name];
    for (const auto& alias : entry->aliases) ++bearers[alias];
  }
  return bearers;
}

Status check_new_name(std::string_view what, std::string_view name, const Bearers& bearers) {
  REEF_CHECK(check_name(what, name));
  if (bearers.at(name) == 1) return Ok{};
  return Error(Errc::conflict,
               fmt::format("{} '{}' is there more than once", what, utf8::excerpt(name)));
}

// Refuses a changed kind, as when a file was moved to another folder. An entry of another memory
// may have the same id by chance, but hardly the same time or name, too.
Status check_kind(const Entry& entry, const Entry& before) {
  const bool same = entry.created_at == before.created_at || entry.name == before.name;
  if (!same || entry.kind == before.kind) return Ok{};
  return Error(Errc::invalid, fmt::format("it is kept as {}, and cannot become {}: the kind never "
                                          "changes; a new entry has no Id",
                                          name_of(before.kind), name_of(entry.kind)));
}

// Checks only what a loaded entry changes about `before`, the entry with its id: a foreign memory
// may exceed our limits, and loading its own dump must still work.
Status check_news(const Entry& entry, const Entry* before, const Bearers& bearers) {
  if (before) REEF_CHECK(check_kind(entry, *before));
  if (!before || entry.name != before->name)
    REEF_CHECK(check_new_name("name", entry.name, bearers));
  if (!before || entry.content != before->content) REEF_CHECK(check_content(entry.content));
  if (before && entry.aliases == before->aliases) return Ok{};
  std::unordered_set<std::string_view> had;
  if (before) had.insert(before->aliases.begin(), before->aliases.end());
  for (const auto& alias : entry.aliases)
    if (!had.contains(alias)) REEF_CHECK(check_new_name("alias", alias, bearers));
  return before && entry.aliases.size() <= before->aliases.size()
             ? Status(Ok{})
             : check_alias_count(entry.aliases.size());
}

Status check_replacement(const Contents& before, const Contents& after) {
  const auto bytes = serialized_bytes(after);
  if (bytes > kMemoryBytesMax && bytes > serialized_bytes(before))
    return Error(Errc::too_large,
                 fmt::format("a memory has at most {} bytes, this one {}", kMemoryBytesMax, bytes));
  if (after.entries.size() > std::max(kEntriesMax, before.entries.size()))
    return Error(Errc::too_large, fmt::format("a memory has at most {} entries, this one {}",
                                              kEntriesMax, after.entries.size()));
  const auto bearers = bearers_of(after);
  std::unordered_map<std::uint64_t, const Entry*> known;
  for (const auto& entry : before.entries) known.emplace(entry->id, entry.get());
  for (const auto& entry : after.entries) {
    const auto found = known.find(entry->id);
    auto good = check_news(*entry, found == known.end() ? nullptr : found->second, bearers);
    if (!good)
      return std::move(good).error().with(
          fmt::format("entry '{}' (id {})", utf8::excerpt(entry->name), entry->id));
  }
  return Ok{};
}

Result<EntryPtr> replace_all(Contents& contents, const Replace& op) {
  REEF_CHECK(check_replacement(contents, op.contents));
  contents = op.contents;
  return EntryPtr();
}

}  // namespace

Status check_name(std::string_view what, std::string_view name) {
  if (name.empty()) return Error(Errc::invalid, fmt::format("the {} must not be empty", what));
  if (name.size() > kNameBytesMax)
    return Error(Errc::too_large, fmt::format("{} '{}' has {} bytes, at most {} are kept", what,
                                              utf8::excerpt(name), name.size(), kNameBytesMax));
  if (!utf8::valid(name))
    return Error(Errc::invalid, fmt::format("the {} is not valid UTF-8", what));
  if (utf8::printable(name).size() != name.size() ||
      name.find_first_of("\n\t") != std::string_view::npos)
    return Error(Errc::invalid, fmt::format("{} '{}' must not hold control characters", what,
                                            utf8::excerpt(name)));
  if (name.front() == ' ' || name.back() == ' ')
    return Error(Errc::invalid, fmt::format("{} '{}' must not start or end with a space", what,
                                            utf8::excerpt(name)));
  return Ok{};
}

Status check_new(const Entry& entry) {
  REEF_CHECK(check_name("name", entry.name));
  for (const auto& alias : entry.aliases) REEF_CHECK(check_name("alias", alias));
  REEF_CHECK(check_alias_count(entry.aliases.size()));
  return check_content(entry.content);
}

Result<EntryPtr> apply(Contents& contents, const Operation& operation, std::uint64_t now) {
  return std::visit(Overload{
                        [&](const Add& op) { return add(contents, op, now); },
                        [&](const Write& op) { return write(contents, op); },
                        [&](const Rename& op) { return rename(contents, op); },
                        [&](const Alias& op) { return alias(contents, op); },
                        [&](const Remove& op) { return remove(contents, op.name); },
                        [&](const Remember& op) { return remember(contents, op, now); },
                        [&](const Forget& op) { return forget(contents, op); },
                        [&](const Replace& op) { return replace_all(contents, op); },
                    },
                    operation);
}

}  // namespace reef::memory
