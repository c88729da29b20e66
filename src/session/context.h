// Builds what a model is given of a branch. Pure functions; the rules are pi's
// (docs/formats/transcript.md).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "session/entry.h"

namespace reef::session {

struct ContextItem {
  EntryId id;
  MessagePtr message;
};

struct ModelChoice {
  std::string provider, model;
};

struct Context {
  std::vector<ContextItem> items;  // oldest first; a summary stands in place of what it replaces
  std::optional<ModelChoice> model;
  std::string thinking_level = "off";
};

// `branch` goes from the root, or from where the context begins, to the leaf.
Context build_context(std::span<const Entry* const> branch);

// Adds the entry that follows the branch. False when it changes earlier items: then build anew.
bool extend_context(Context& context, const Entry& entry);

// How many entries at the front of the branch the context does not need.
std::size_t unneeded_prefix(std::span<const Entry* const> branch);

// The id of the first entry that a compaction keeps; its own id when it keeps nothing.
std::string_view first_kept(const Entry& compaction);

// The messages as providers take them: user, assistant and toolResult only. Failed replies are left
// out; a cancelled one is given as the text its reader saw, marked as interrupted. Notes, commands
// and summaries become the user's words; a guest's words stand in <from agent="NAME">.
std::vector<MessagePtr> for_model(const Context& context);
// The same for one message; null when a model is not given it.
MessagePtr for_model(const MessagePtr& message);

}  // namespace reef::session
