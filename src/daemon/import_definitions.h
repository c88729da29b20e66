// Hands what an import brings besides sessions to the part that keeps it.
#pragma once

#include <functional>
#include <string>

#include "bus/bus.h"
#include "exchange/exchange.h"
#include "memory/memory.h"
#include "organise/definitions.h"
#include "runtime/agent.h"

namespace reef::daemon {

// Keeps statuses and labels. False when one of that name exists; the user's stays. invalid when it
// cannot be kept, or when only a rule of a label cannot; the label itself is then kept.
Task<Result<bool>> keep_definition(organise::Definitions& definitions,
                                   exchange::Definition definition);

// Puts an archive or a note into the memory of its agent. False when it is there already; conflict
// when something else has its name.
Task<Result<bool>> keep_archive(memory::Memories& memories, exchange::Definition archive);
// The same for a note or archive whose agent may be called `crab`: that means the default agent,
// unless there is an agent of that name or it comes with the same import.
Task<Result<bool>> keep_note(memory::Memories& memories, const runtime::Setup& setup,
                             exchange::Definition note);

// Subscribes an agent. False when it is subscribed already. The agent may have come with the same
// import; then `reload_agents` makes it known.
Task<Result<bool>> keep_subscription(bus::Bus& bus, std::function<Task<Status>()> reload_agents,
                                     exchange::Definition subscription);

// The permission mode of an imported session that sets none. An agent that does not exist yet
// counts as a new agent.
std::string permission_mode_of(const runtime::Setup& setup, const std::string& agent,
                               const std::string& sender, const std::string& key);

}  // namespace reef::daemon
