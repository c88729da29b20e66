// The tree of one session in memory: entries, leaf, metadata. A value whose invariant is that every
// parent is an earlier entry. Used on the thread of its owner.
#pragma once

#include <map>
#include <unordered_map>
#include <vector>

#include "session/entry.h"
#include "session/reader.h"

namespace reef::session {

class Transcript {
 public:
  Transcript() = default;
  explicit Transcript(Reading reading);

  const Header& header() const { return header_; }
  const std::vector<Entry>& entries() const { return entries_; }
  // Metadata after all merge patches.
  const json::object& meta() const { return meta_; }
  const std::vector<Damage>& damage() const { return damage_; }

  const Entry* find(const EntryId& id) const;
  // The last entry, to which new ones attach; nullptr in an empty transcript.
  const Entry* leaf() const { return entries_.empty() ? nullptr : &entries_.back(); }
  // From the root to the leaf.
  std::vector<const Entry*> branch() const;
  // From the root to this entry; empty when the id is unknown.
  std::vector<const Entry*> branch(const EntryId& leaf) const;
  // Index of each entry's parent; SIZE_MAX for roots.
  const std::vector<std::size_t>& parents() const { return parents_; }
  // The current bookmarks: labels by the id of their entry.
  std::map<std::string, std::string> labels() const;

  // The parent must be known.
  void add(Entry entry);

 private:
  static constexpr std::size_t kNone = SIZE_MAX;

  void index(std::size_t at);
  void hide_what_led_to(std::size_t at);
  std::vector<const Entry*> walk(std::size_t leaf) const;

  Header header_;
  std::vector<Entry> entries_;
  // One for each entry. They are places, not ids, so that a walk to the root always goes backwards
  // in the file, whatever the ids say.
  std::vector<std::size_t> parents_;
  std::unordered_map<EntryId, std::size_t> index_;  // the latest entry of that id
  json::object meta_;
  std::vector<Damage> damage_;
};

}  // namespace reef::session
