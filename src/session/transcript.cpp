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

std::vector<const Entry*> Transcript::branch() const {
  std::vector<const Entry*> path;
  for (std::size_t at = entries_.size() - 1; at < entries_.size(); at = parents_[at])
    path.push_back(&entries_[at]);
  std::reverse(path.begin(), path.end());
  return path;
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

  if (const auto* patch = meta_of(entry)) {
    json::merge_patch(meta_, *patch);
  } else if (entry.type == "session_info") {
    if (const auto name = json::find_string(entry.body, "name")) meta_["title"] = *name;
  }
}

std::vector<Message> build_context(const Transcript& transcript) {
  std::vector<Message> context;
  for (const auto* entry : transcript.branch()) {
    auto message = message_of(*entry);
    if (!message || std::holds_alternative<OtherMessage>(*message) ||
        std::holds_alternative<BashMessage>(*message))
      continue;
    if (const auto* reply = std::get_if<AssistantMessage>(&*message))
      if (reply->stop_reason == StopReason::error || reply->stop_reason == StopReason::aborted)
        continue;
    context.push_back(std::move(*message));
  }
  return context;
}

}  // namespace reef::session
