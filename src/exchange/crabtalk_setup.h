// What a CrabTalk folder holds beside conversations. The reader's own.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>

#include "base/files.h"
#include "exchange/exchange.h"
#include "memory/crmem.h"

namespace reef::exchange {

// The texts compact markers name, by name and alias.
using Archives = std::unordered_map<std::string, memory::EntryPtr>;

// Of `root`/memory.db; none when there is no such file, a problem when it cannot be read.
Archives read_crabtalk_archives(Files& files, const std::string& root, Intake& intake);
// An agent as CrabTalk configured it, in our words.
Definition crabtalk_agent(Definition agent);
// A note for one agent's memory.
Definition crabtalk_note(const memory::Entry& entry, const std::string& agent);
// Agents with their prompts and scope, notes, skills, instructions, subscriptions, crons.
Status read_crabtalk_setup(Files& files, const std::string& root, Intake& intake);

}  // namespace reef::exchange
