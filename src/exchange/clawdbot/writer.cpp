// Writes Clawdbot's store: for each agent a sessions.json that maps keys to sessions, and the
// transcripts, which are ours byte for byte.

#include <map>

#include <fmt/format.h>

#include "base/utf8.h"
#include "exchange/clawdbot/clawdbot.h"
#include "exchange/session_files.h"

namespace reef::exchange {
namespace {

constexpr std::size_t kAgentBytesMax = 64;

// The folder name Clawdbot makes of an agent's name.
std::string agent_folder(std::string_view agent) {
  std::string name;
  for (const char c : utf8::lower_ascii(agent).substr(0, kAgentBytesMax)) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    const bool inner = c == '_' || c == '-';
    if (letter || (inner && !name.empty())) {
      name.push_back(c);
    } else if (!name.empty() && name.back() != '-') {
      name.push_back('-');
    }
  }
  return name.empty() ? "main" : name;
}

json::object store_entry(const session::Row& row) {
  json::object out;
  // Fields that came from Clawdbot and mean nothing here go back unchanged.
  if (const auto* imported = json::find_object(row.meta, "imported");
      imported && row.text("source") == "clawdbot")
    out = *imported;
  for (auto& [name, value] : json::object{{"sessionId", row.id.text()},
                                          {"updatedAt", row.last_used().time_since_epoch().count()},
                                          {"sessionFile", row.id.text() + ".jsonl"}})
    out[name] = std::move(value);
  // These have the same name and meaning in Clawdbot.
  for (const auto name : {"chatType", "thinkingLevel", "verboseLevel", "reasoningLevel",
                          "queueMode", "sendPolicy", "displayName", "channel", "subject",
                          "groupChannel", "space", "memoryFlushAt", "memoryFlushCompactionCount"})
    if (const auto* value = row.meta.if_contains(name)) out[name] = *value;
  if (const auto level = row.text("elevatedLevel"); !level.empty()) out["elevatedLevel"] = level;
  if (const auto model = row.text("modelOverride"); !model.empty()) {
    const auto slash = model.find('/');
    if (slash != std::string_view::npos) out["providerOverride"] = model.substr(0, slash);
    out["modelOverride"] = slash == std::string_view::npos ? model : model.substr(slash + 1);
  }
  if (!row.name().empty()) out["label"] = row.name();
  if (!out.contains("displayName") && !row.name().empty()) out["displayName"] = row.name();
  out["inputTokens"] = row.usage.input;
  out["outputTokens"] = row.usage.output;
  out["totalTokens"] = row.context_tokens;
  out["compactionCount"] = row.compaction_count;
  return out;
}

// Indents by two spaces a level, as Clawdbot does.
std::string pretty(const json::object& entry) {
  std::string out = "{";
  for (const auto& [name, value] : entry)
    out += fmt::format("{}\n    {}: {}", out.size() > 1 ? "," : "", json::write(json::value(name)),
                       json::write(value));
  return out + "\n  }";
}

class ClawdbotWriter final : public Writer {
 public:
  explicit ClawdbotWriter(Outlet& outlet) : outlet_(outlet) {}

  Status add(const Exported& session) override {
    const auto& row = session.row;
    const auto agent = agent_folder(row.agent());
    auto& store = stores_[agent];
    if (!row.key().empty()) {
      // A key has one session; its earlier sessions stay as files, as they do in Clawdbot.
      auto& bound = store[std::string(row.key())];
      if (bound.entry.empty() || row.bound_at() >= bound.at)
        bound = Bound{row.bound_at(), pretty(store_entry(row))};
    }
    const auto path = fmt::format("agents/{}/sessions/{}.jsonl", agent, row.id.text());
    REEF_CHECK(outlet_.begin(path));
    REEF_CHECK(outlet_.write(session.bytes));
    REEF_CHECK(outlet_.end());
    return write_files(session, files_folder_of(path), outlet_);
  }

  Status finish() override {
    for (const auto& [agent, store] : stores_) {
      REEF_CHECK(outlet_.begin(fmt::format("agents/{}/sessions/sessions.json", agent)));
      std::string_view before = "{";
      for (const auto& [key, bound] : store) {
        REEF_CHECK(outlet_.write(
            fmt::format("{}\n  {}: {}", before, json::write(json::value(key)), bound.entry)));
        before = ",";
      }
      REEF_CHECK(outlet_.write(store.empty() ? "{}\n" : "\n}\n"));
      REEF_CHECK(outlet_.end());
    }
    return Ok{};
  }

 private:
  struct Bound {
    std::int64_t at = 0;
    std::string entry;
  };

  Outlet& outlet_;
  std::map<std::string, std::map<std::string, Bound>> stores_;  // agent -> key -> its session
};

}  // namespace

std::unique_ptr<Writer> clawdbot_writer(Outlet& outlet) {
  return std::make_unique<ClawdbotWriter>(outlet);
}

}  // namespace reef::exchange
