// Rules of the Claude models, wherever they are served. Pure functions.
#pragma once

#include <string_view>
#include <utility>

#include "model/conversation.h"

namespace reef::model::claude {

// "claude-opus-4-6-20260101" is 4.6, "us.anthropic.claude-3-7-sonnet-v1:0" is 3.7; {0, 0} when it
// is not a Claude or has no version.
std::pair<int, int> version_of(std::string_view model);

struct Lengths {
  std::int64_t max_tokens = 0;
  json::object fields;  // `thinking` and `output_config`; empty when there is no room to think
};
// From 4.6 on models decide themselves how long to think, guided by an effort; older ones get a
// budget.
Lengths lengths(const Request& request, const ModelFacts& facts, bool thinking);

// The rules for names, ids and thoughts; signatures made by `api` count as the model's own.
ConversationRules rules(std::string_view api, Thoughts thoughts);

struct Prepared {
  Conversation conversation;
  bool thinking = false;
};
// `can_think`: the model thinks and accepts its thoughts back. A forced call excludes thoughts and
// has priority. A model with a budget refuses to think in the middle of a tool loop that began
// without a thought of its own, for example because another model began it.
Prepared prepare(const Request& request, const ModelFacts& facts, std::string_view api,
                 bool can_think);

}  // namespace reef::model::claude
