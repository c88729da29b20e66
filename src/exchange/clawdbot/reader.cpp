#include <algorithm>

#include <fmt/format.h>

#include "base/utf8.h"
#include "exchange/clawdbot/clawdbot.h"
#include "exchange/feed.h"
#include "exchange/foreign_file.h"
#include "exchange/pi/pi.h"

namespace reef::exchange {
namespace {

constexpr std::string_view kTranscriptEnding = ".jsonl";
constexpr std::string_view kStore = "sessions.json";
constexpr std::string_view kDatabase = "openclaw-agent.sqlite";
// A larger store is read a member at a time.
constexpr std::uint64_t kStoreBytesMax = 8U << 20;
// The prompts and sizes of skills are left out; they are most of a store.
constexpr std::string_view kBulky[] = {"skillsSnapshot", "systemPromptReport"};

// The entries of one agent's store, by the name of the transcript's file.
using Store = std::map<std::string, ClawdbotEntry>;

// <session>.jsonl, or what is left of it after it was deleted or reset:
// <session>.jsonl.deleted.<time>.
struct FileName {
  std::string session;
  std::string_view kept_as;  // empty: live
};

std::optional<FileName> parse_name(std::string_view name) {
  const auto dot = name.find(kTranscriptEnding);
  if (dot == std::string_view::npos || dot == 0) return std::nullopt;
  const auto rest = name.substr(dot + kTranscriptEnding.size());
  FileName out{utf8::sanitize(name.substr(0, dot)), {}};
  if (rest.empty()) return out;
  for (const std::string_view suffix : {".deleted.", ".reset.", ".bak"})
    if (rest.starts_with(suffix)) {
      out.kept_as = rest;
      return out;
    }
  return std::nullopt;  // a lock, a temporary file
}

// One member of a store.
void take_session(Store& store, std::string_view key, const json::value& value,
                  const std::string& path, Intake& intake) {
  const auto* entry = value.if_object();
  const auto id = entry ? json::find_string(*entry, "sessionId") : std::nullopt;
  if (!id || id->empty()) {
    intake.problem(Problem{path, 0, fmt::format("{}: no session", utf8::excerpt(key))});
    return;
  }
  // The path may be one of another machine, so only the file name counts.
  const auto file = json::find_string(*entry, "sessionFile").value_or("");
  auto name = std::string(base_name(file));
  if (!name.ends_with(kTranscriptEnding)) name = std::string(*id) + std::string(kTranscriptEnding);
  ClawdbotEntry one{std::string(key), *entry};
  for (const auto bulky : kBulky) one.body.erase(bulky);
  // When two keys name the same transcript, the one used last gets it.
  const auto [at, fresh] = store.try_emplace(name, one);
  if (!fresh && json::find_int(at->second.body, "updatedAt").value_or(0) <
                    json::find_int(one.body, "updatedAt").value_or(0))
    at->second = std::move(one);
}

// Reads a store that is too large to be held, in the layout Clawdbot writes: a member begins and
// ends two spaces in, its bulky parts four spaces in.
Status read_large_store(Files& files, const std::string& path, Store& store, Intake& intake) {
  REEF_TRY(auto lines, LineReader::open(files, path));
  std::string member;
  bool passing = false;
  for (;;) {
    REEF_TRY(const auto line, lines.next());
    if (!line) return Ok{};
    const auto text = line->text;
    if (passing) {
      passing = text != "    }" && text != "    },";
      continue;
    }
    for (const auto bulky : kBulky)
      passing = passing || text == fmt::format("    \"{}\": {{", bulky);
    if (passing || text == "{" || text == "}") continue;
    member += text;
    if (text != "  }" && text != "  },") continue;
    // The part that was skipped may have been the last one; JSON5 allows the comma it leaves.
    const auto parsed = json::parse_lenient(json_from_json5("{" + member + "}"));
    member.clear();
    if (!parsed || !parsed->is_object()) {
      intake.problem(Problem{path, line->number, "not an entry of a store; left out"});
      continue;
    }
    for (const auto& [key, value] : parsed->get_object())
      take_session(store, key, value, path, intake);
  }
}

Store read_store(Files& files, const std::string& path, Intake& intake) {
  Store out;
  const auto stat = files.stat_path(path);
  if (!stat) return out;
  if (stat->regular && stat->size > kStoreBytesMax) {
    if (const auto done = read_large_store(files, path, out, intake); !done)
      intake.problem(Problem{path, 0, done.error().what});
    return out;
  }
  const auto text = read_source(files, path);
  if (!text) {
    intake.problem(Problem{path, 0, text.error().what});
    return out;
  }
  auto parsed = json::parse_lenient(*text);
  if (!parsed) {
    if (auto mended = json::parse_lenient(json_from_json5(*text))) parsed = std::move(mended);
  }
  if (!parsed || !parsed->is_object()) {
    intake.problem(Problem{path, 0,
                           fmt::format("{}; its sessions are read without their keys",
                                       parsed ? "not an object" : parsed.error().what)});
    return out;
  }
  for (const auto& [key, value] : parsed->get_object()) take_session(out, key, value, path, intake);
  return out;
}

Status read_one(Files& files, const std::string& path, const std::string& agent,
                const FileName& name, const ClawdbotEntry* entry, bool of_store, Intake& intake) {
  Head head;
  head.of_store = of_store;
  head.id = name.session;
  head.origin = fmt::format("clawdbot:{}:{}", agent, name.session);
  head.meta = clawdbot_meta(agent, entry ? *entry : ClawdbotEntry{});
  if (!name.kept_as.empty()) head.meta["isArchived"] = true;
  return read_pi_file(files, path, std::move(head), intake);
}

Status read_sessions(Files& files, const std::string& folder, const std::string& agent,
                     Intake& intake) {
  const auto names = files.list(folder);
  if (!names) {
    intake.problem(Problem{folder, 0, names.error().what});
    return Ok{};
  }
  const auto store = read_store(files, folder + "/" + std::string(kStore), intake);
  std::map<std::string, bool> seen;
  for (const auto& name : *names) {
    if (intake.cancelled()) return Error(Errc::cancelled, "cancelled");
    const auto file = parse_name(name);
    if (!file) continue;
    const auto path = folder + "/" + name;
    if (name.ends_with(".zst")) {
      intake.problem(Problem{path, 0, "compressed; not read"});
      continue;
    }
    seen[name] = true;
    const auto entry = store.find(name);
    REEF_CHECK(read_one(files, path, agent, *file, entry == store.end() ? nullptr : &entry->second,
                        true, intake));
  }
  const bool database = is_there(files, parent_path(folder) + "/agent/" + std::string(kDatabase));
  for (const auto& [name, entry] : store)
    if (!seen.contains(name) && !database)
      intake.problem(
          Problem{folder + "/" + name, 0,
                  fmt::format("the transcript of {} is missing", utf8::excerpt(entry.key))});
  return Ok{};
}

// The agent's chats go on here, so it must exist: without settings of its own, unless there already
// is one of the name. The built-in agent always exists.
Status define_agent(const std::string& agent, Intake& intake) {
  if (agent == "reef") return Ok{};
  Definition definition;
  definition.kind = Definition::Kind::agent;
  definition.name = agent;
  definition.body["description"] = "Came with the chats of Clawdbot";
  return intake.define(std::move(definition));
}

// The folder of one agent: sessions/, and agent/ with a database in later versions.
Status read_agent(Files& files, const std::string& folder, Intake& intake) {
  const auto agent = utf8::sanitize(base_name(folder));
  const auto database = folder + "/agent/" + std::string(kDatabase);
  REEF_CHECK(define_agent(agent, intake));
  // The database holds the live sessions; the files beside it are what it was made from.
  if (is_there(files, database)) REEF_CHECK(read_clawdbot_database(files, database, agent, intake));
  if (is_directory(files, folder + "/sessions"))
    REEF_CHECK(read_sessions(files, folder + "/sessions", agent, intake));
  return Ok{};
}

}  // namespace

json::object clawdbot_meta(const std::string& agent, const ClawdbotEntry& entry) {
  json::object meta{{"agent", agent}};
  if (!entry.key.empty()) meta["key"] = entry.key;
  const auto text = [&](std::string_view field) {
    return json::find_string(entry.body, field).value_or("");
  };
  const auto set = [&](std::string_view field, std::string_view value) {
    if (!value.empty()) set_meta(meta, field, json::value(value));
  };
  set("name", text("label"));
  set("displayName", text("displayName"));
  set("chatType", text("chatType"));
  set("channel", text("channel").empty() ? text("provider") : text("channel"));
  set("subject", text("subject"));
  set("groupChannel", text("groupChannel").empty() ? text("room") : text("groupChannel"));
  set("space", text("space"));
  set("sendPolicy", text("sendPolicy"));
  set("thinkingLevel", text("thinkingLevel"));
  if (const auto model = text("modelOverride"); !model.empty())
    set("modelOverride", text("providerOverride").empty()
                             ? std::string(model)
                             : fmt::format("{}/{}", text("providerOverride"), model));
  for (const std::string_view field : {"memoryFlushAt", "memoryFlushCompactionCount"})
    if (const auto number = json::find_int(entry.body, field); number && *number >= 0)
      meta[field] = *number;
  // Other fields are kept as they are.
  for (const auto& [name, value] : entry.body)
    if (!meta.contains(name) && name != "sessionFile" && !value.is_null() &&
        std::find(std::begin(kBulky), std::end(kBulky), std::string_view(name)) == std::end(kBulky))
      meta[name] = value;
  return meta;
}

Status read_clawdbot(Files& files, const std::string& path, Intake& intake) {
  const auto stat = files.stat_path(path);
  if (!stat) return stat.error();
  const std::string name(base_name(path));
  if (!stat->directory) {
    if (name.ends_with(".sqlite"))
      return read_clawdbot_database(
          files, path, utf8::sanitize(base_name(parent_path(parent_path(path)))), intake);
    const auto folder = parent_path(path);
    const auto agent = utf8::sanitize(base_name(parent_path(folder)));
    if (name == kStore) {
      REEF_CHECK(define_agent(agent, intake));
      return read_sessions(files, folder, agent, intake);
    }
    const auto store = read_store(files, folder + "/" + std::string(kStore), intake);
    const auto entry = store.find(name);
    return read_one(files, path, agent,
                    parse_name(name).value_or(FileName{utf8::sanitize(name), {}}),
                    entry == store.end() ? nullptr : &entry->second, false, intake);
  }
  if (is_directory(files, path + "/agents")) {
    REEF_TRY(const auto agents, files.list(path + "/agents"));
    for (const auto& agent : agents) {
      const auto folder = path + "/agents/" + agent;
      if (is_directory(files, folder)) REEF_CHECK(read_agent(files, folder, intake));
    }
    return Ok{};
  }
  if (is_directory(files, path + "/sessions") || is_directory(files, path + "/agent"))
    return read_agent(files, path, intake);
  return read_sessions(files, path, utf8::sanitize(base_name(parent_path(path))), intake);
}

bool is_clawdbot(Files& files, const std::string& path) {
  const auto has = [&](const std::string& folder, std::string_view inside) {
    return is_there(files, folder + std::string(inside));
  };
  if (!is_directory(files, path)) {
    const auto name = base_name(path);
    if (name == kStore || name == kDatabase) return true;
    return parse_name(name) && has(parent_path(path) + "/", kStore);
  }
  if (has(path + "/", kStore) || has(path + "/sessions/", kStore) ||
      has(path + "/agent/", kDatabase))
    return true;
  const auto agents = files.list(path + "/agents");
  return agents && std::any_of(agents->begin(), agents->end(), [&](const std::string& agent) {
           const auto folder = path + "/agents/" + agent;
           return is_directory(files, folder + "/sessions") || has(folder + "/agent/", kDatabase);
         });
}

}  // namespace reef::exchange
