// The policy's settings as plain values, with overrides by agent and by session. Pure functions.
// docs/policy.md has the table for users.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace reef::policy {

struct Rules {
  bool compact = true;
  std::int64_t compact_threshold = 100'000;  // tokens of context
  std::int64_t reserve_tokens = 16'384;      // of the window, for the next turn
  std::int64_t reserve_floor = 20'000;       // the smallest reserve
  bool flush = true;
  std::int64_t flush_margin = 4'000;  // a flush comes this many tokens before the compaction
  std::string flush_prompt;           // empty: kFlushPrompt
  std::string flush_system_prompt;    // added to the system prompt of a flush
  bool title = true;
  bool recall = false;            // tell the model before a turn what is remembered that fits
  std::int64_t archive_days = 0;  // 0: never

  // Rules that do nothing.
  static Rules none() {
    Rules rules;
    rules.compact = rules.flush = rules.title = false;  // recall is off anyway
    return rules;
  }

  bool operator==(const Rules&) const = default;
};

// Asks an agent for durable notes; its answer is not delivered.
extern const std::string_view kFlushPrompt;

// Sets rules by the names above. On a wrong name or value nothing changes, and the error names the
// first.
Status override_with(Rules& rules, const json::object& changes);
// The same from "name=value" texts: on, off, true, false, or a number.
Status override_with(Rules& rules, const std::vector<std::string>& changes);

// All rules by name, for people and `--json`.
json::object to_json(const Rules& rules);

}  // namespace reef::policy
