// What is peculiar to the Claude models, wherever they are served. Pure functions.
#pragma once

#include <string_view>
#include <utility>

#include "model/conversation.h"

namespace reef::model::claude {

// "claude-opus-4-6-20260101" is 4.6, "us.anthropic.claude-3-7-sonnet-v1:0" is 3.7; {0, 0} when it
// is no Claude or there is no telling.
std::pair<int, int> version_of(std::string_view model);

struct Lengths {
  std::int64_t max_tokens = 0;
  json::object fields;  // `thinking` and `output_config`; empty: there is no room to think
};
// From 4.6 on models decide themselves how long to think, and take an effort; before, a budget.
Lengths lengths(const Request& request, const ModelFacts& facts, bool thinking);

// How names, ids and thoughts have to look; `api` is whose signatures count as own.
ConversationRules rules(std::string_view api, Thoughts thoughts);

struct Prepared {
  Conversation conversation;
  bool thinking = false;
};
// `can_think`: the model does, and can take its thoughts back. A forced call and thoughts exclude
// each other, and the caller's word about tools counts more. A model with a budget refuses to think
// in the middle of a tool loop that began without a thought of its own, as one that another model
// began did.
Prepared prepare(const Request& request, const ModelFacts& facts, std::string_view api,
                 bool can_think);

}  // namespace reef::model::claude
