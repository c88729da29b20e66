#include "session/transcript.h"

#include <algorithm>

#include "base/assert.h"

namespace reef::session {

Transcript::Transcript(Reading reading)
    : header_(std::move(reading.header).value_or(Header{})),
      entries_(std::move(reading.entries)),
      damage_(std::move(reading.damage)) {
  for (std::size_t i = 0; i < entries_.size(); ++i) index(i);
}

const Entry* Transcript::find(const EntryId& id) const {
  const auto found = index_.find(id);
  return found == index_.end() ? nullptr : &entries_[found->second];
}

std::vector<const Entry*> Transcript::walk(std::size_t leaf) const {
  std::vector<const Entry*> path;
  for (std::size_t at = leaf; at < entries_.size(); at = parents_[at])
    path.push_back(&entries_[at]);
  std::reverse(path.begin(), path.end());
  return path;
}

std::vector<const Entry*> Transcript::branch() const {
  return entries_.empty() ? std::vector<const Entry*>() : walk(entries_.size() - 1);
}

std::vector<const Entry*> Transcript::branch(const EntryId& leaf) const {
  const auto found = index_.find(leaf);
  return found == index_.end() ? std::vector<const Entry*>() : walk(found->second);
}

std::map<std::string, std::string> Transcript::labels() const {
  std::map<std::string, std::string> out;
  for (const auto& entry : entries_) {
    if (entry.type != "label") continue;
    const std::string target(json::find_string(entry.body, "targetId").value_or(""));
    const auto text = json::find_string(entry.body, "label").value_or("");
    if (text.empty()) {
      out.erase(target);
    } else {
      out[target] = text;
    }
  }
  return out;
}

void Transcript::add(Entry entry) {
  REEF_ASSERT(!entry.parent || find(*entry.parent));
  entries_.push_back(std::move(entry));
  index(entries_.size() - 1);
}

void Transcript::index(std::size_t at) {
  const auto& entry = entries_[at];
  std::size_t parent = kNone;
  if (entry.parent)
    if (const auto found = index_.find(*entry.parent); found != index_.end())
      parent = found->second;
  parents_.push_back(parent);
  index_.insert_or_assign(entry.id, at);

  if (hides(entry) > 0) hide_what_led_to(at);
  if (const auto* patch = meta_of(entry)) {
    json::merge_patch(meta_, *patch);
  } else if (entry.type == "session_info") {
    if (const auto name = json::find_string(entry.body, "name")) meta_["name"] = *name;
  }
}

// Hides what stands between a silent reply and the words it answers; the words stay.
void Transcript::hide_what_led_to(std::size_t at) {
  auto words = hides(entries_[at]);
  for (auto i = parents_[at]; i < entries_.size() && words > 0; i = parents_[i]) {
    auto& entry = entries_[i];
    const auto* message = json::find_object(entry.body, "message");
    if (entry.type != "message" || !message || is_hidden(entry)) continue;
    const auto role = json::find_string(*message, "role");
    if (role == "user") --words;
    if (role == "assistant" || role == "toolResult") entry.body["hidden"] = true;
  }
}

}  // namespace reef::session
