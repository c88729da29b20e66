#include "exchange/trust.h"

#include <algorithm>

namespace reef::exchange {
namespace {

// Fields of looks, order and attribution. `bounds` can only take rights away.
constexpr std::string_view kHarmless[] = {"name",
                                          "agent",
                                          "sender",
                                          "sessionStatus",
                                          "labels",
                                          "isFlagged",
                                          "isArchived",
                                          "archivedAt",
                                          "hasUnread",
                                          "lastUsedAt",
                                          "queueMode",
                                          "chatType",
                                          "channel",
                                          "subject",
                                          "groupChannel",
                                          "space",
                                          "sendPolicy",
                                          "displayName",
                                          "thinkingLevel",
                                          "verboseLevel",
                                          "reasoningLevel",
                                          "compactOnOverflow",
                                          "memoryFlushAt",
                                          "memoryFlushCompactionCount",
                                          "workingDirectory",
                                          "imported",
                                          "bounds",
                                          "parentSession",
                                          "parentCall",
                                          "uptimeSecs"};

// Fields an import writes about itself.
constexpr std::string_view kOwn[] = {"source",      "origin",      "originMark", "originMarks",
                                     "originAside", "originUsage", "boundAt",    "forkedFrom"};

// From the narrowest to the widest.
constexpr std::string_view kModes[] = {"safe", "ask", "allow-all"};

template <class List>
bool contains(const List& list, std::string_view name) {
  return std::find(std::begin(list), std::end(list), name) != std::end(list);
}

std::string text_of(const json::value& value) {
  return value.is_string() ? std::string(value.get_string())
         : value.is_null() ? std::string()
                           : json::write(value);
}

}  // namespace

void keep_harmless(json::object& meta, Claims& claims) {
  std::vector<std::string> taken;
  for (const auto& [field, value] : meta) {
    const std::string_view name = field;
    if (contains(kHarmless, name)) continue;
    taken.emplace_back(name);
    if (name == "key") {
      claims.key = text_of(value);
    } else if (name == "permissionMode") {
      claims.mode = text_of(value);
    } else if (name == "modelOverride") {
      claims.model = text_of(value);
    } else if (contains(kOwn, name)) {
      continue;
    } else if (value.is_null()) {
      claims.rest.erase(std::string(name));
    } else {
      claims.rest.emplace(name);
    }
  }
  for (const auto& name : taken) meta.erase(name);
}

bool is_no_wider(std::string_view mode, std::string_view own) {
  const auto* wanted = std::find(std::begin(kModes), std::end(kModes), mode);
  const auto* limit = std::find(std::begin(kModes), std::end(kModes), own);
  return wanted != std::end(kModes) && limit != std::end(kModes) && wanted <= limit;
}

}  // namespace reef::exchange
