// Guest turns: another agent speaks once in a conversation, text only; the conversation stays its
// own agent's. docs/agents.md tells the rules. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "runtime/agent.h"
#include "runtime/event.h"
#include "session/context.h"

namespace reef::runtime {

// not_found when there is no such agent; nullopt when it is the host itself, who is no guest.
Result<std::optional<Agent>> find_guest(const Setup& setup, const std::string& name,
                                        const Agent& host);

// Tells the speaker about the others in the conversation; made for every turn, never kept.
// Empty for a host without guests.
std::string guest_framing(std::string_view host);
std::string host_framing(const session::Context& context);

// Makes a reply a guest's: puts its name on it and removes tool calls. False when nothing of it is
// kept because it was cut short, or held only tool calls, which `end` then says.
bool keep_guest_words(session::AssistantMessage& reply, const std::string& guest, End& end);

}  // namespace reef::runtime
