// Reads what a CrabTalk folder holds beside conversations. Used only by the reader.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>

#include "base/files.h"
#include "exchange/exchange.h"
#include "memory/crmem.h"

namespace reef::exchange {

// The texts that compact markers name, by name and alias.
using Archives = std::unordered_map<std::string, memory::EntryPtr>;

// Reads `root`/memory.db: empty when there is no such file; a problem when it cannot be read.
Archives read_crabtalk_archives(Files& files, const std::string& root, Intake& intake);
// Translates an agent's CrabTalk configuration into ours.
Definition crabtalk_agent(Definition agent);
// Turns an entry of CrabTalk's memory into a note of one agent.
Definition crabtalk_note(const memory::Entry& entry, const std::string& agent);
// Reads agents with their prompts and scope, notes, skills, instructions, subscriptions, crons.
Status read_crabtalk_setup(Files& files, const std::string& root, Intake& intake);

}  // namespace reef::exchange
