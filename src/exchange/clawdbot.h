// Clawdbot, now OpenClaw: the store of each agent (sessions.json), its transcripts, and the
// databases later versions keep them in. The transcripts are pi's. Any thread.
#pragma once

#include <map>
#include <string>

#include "base/files.h"
#include "exchange/exchange.h"

namespace reef::exchange {

// `path` is the state folder (~/.clawdbot, ~/.openclaw), the folder of an agent or of its sessions,
// one transcript, or one openclaw-agent.sqlite.
Status read_clawdbot(Files& files, const std::string& path, Intake& intake);

// What a store says of one session.
struct ClawdbotEntry {
  std::string key;
  json::object body;
};

// What an entry of a store says, in our words; what has no word here as it is.
json::object clawdbot_meta(const std::string& agent, const ClawdbotEntry& entry);

// openclaw-agent.sqlite of the agent: opened so that nothing is written beside it.
Status read_clawdbot_database(Files& files, const std::string& path, const std::string& agent,
                              Intake& intake);

// JSON as people and JavaScript write it (comments, trailing commas, single quotes, bare names) as
// JSON. What is broken beyond that stays broken.
std::string json_from_json5(std::string_view text);

}  // namespace reef::exchange
