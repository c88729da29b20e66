// Clawdbot, now OpenClaw: the store of each agent (sessions.json), its transcripts, and the
// databases later versions keep them in. The transcripts are pi's. Any thread.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/files.h"
#include "exchange/exchange.h"

namespace reef::exchange {

// `path` is the state folder (~/.clawdbot, ~/.openclaw), the folder of an agent or of its sessions,
// one transcript, or one openclaw-agent.sqlite.
Status read_clawdbot(Files& files, const std::string& path, Intake& intake);
// Whether it looks like Clawdbot's: the state folder, the folder of an agent or of its sessions,
// its store or database, or a transcript beside a store.
bool is_clawdbot(Files& files, const std::string& path);

// One entry of a store: a session and its key.
struct ClawdbotEntry {
  std::string key;
  json::object body;
};

// Returns an entry as metadata under our names; fields we have no name for keep theirs.
json::object clawdbot_meta(const std::string& agent, const ClawdbotEntry& entry);

// Reads the agent's openclaw-agent.sqlite without writing anything beside it.
Status read_clawdbot_database(Files& files, const std::string& path, const std::string& agent,
                              Intake& intake);

// Turns JSON as people and JavaScript write it (comments, trailing commas, single quotes, bare
// names) into JSON. Other errors stay in the text.
std::string json_from_json5(std::string_view text);

// Writes agents/<agent>/sessions/<id>.jsonl, and sessions.json with the keys.
std::unique_ptr<Writer> clawdbot_writer(Outlet& outlet);

}  // namespace reef::exchange
