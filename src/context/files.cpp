#include "context/files.h"

#include <algorithm>
#include <iterator>

namespace reef::context {

std::set<std::string> Files::changed() const {
  auto out = written;
  out.insert(edited.begin(), edited.end());
  return out;
}

std::set<std::string> Files::only_read() const {
  const auto not_these = changed();
  std::set<std::string> out;
  std::set_difference(read.begin(), read.end(), not_these.begin(), not_these.end(),
                      std::inserter(out, out.end()));
  return out;
}

Files files_of(std::span<const session::Entry* const> entries) {
  Files out;
  for (const auto* entry : entries) {
    if (entry->type != "message") continue;
    const auto message = session::message_of(*entry);
    const auto* reply = message ? std::get_if<session::AssistantMessage>(&*message) : nullptr;
    if (!reply) continue;
    for (const auto& block : reply->content) {
      const auto* call = std::get_if<session::ToolCallBlock>(&block);
      if (!call) continue;
      const auto path = json::find_string(call->arguments, "path");
      if (!path || path->empty()) continue;
      if (call->name == "read") out.read.emplace(*path);
      if (call->name == "write") out.written.emplace(*path);
      if (call->name == "edit") out.edited.emplace(*path);
    }
  }
  return out;
}

void add_known(Files& files, const session::Entry& compaction) {
  const auto* details = json::find_object(compaction.body, "details");
  if (!details) return;
  const auto add = [&](std::string_view key, std::set<std::string>& to) {
    if (const auto* paths = json::find_array(*details, key))
      for (const auto& path : *paths)
        if (path.is_string()) to.emplace(path.get_string());
  };
  add("readFiles", files.read);
  add("modifiedFiles", files.edited);
}

}  // namespace reef::context
