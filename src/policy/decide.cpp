#include "policy/decide.h"

#include <algorithm>

#include <fmt/format.h>

namespace reef::policy {
namespace {

// A refused compaction is tried again when the context has grown by this much.
constexpr std::int64_t kGrowthTokens = 4'000;

std::string of_window(const Facts& facts) {
  return facts.window > 0 ? fmt::format("{} of {} tokens", facts.tokens, facts.window)
                          : fmt::format("{} tokens, window not known", facts.tokens);
}

Verdict on_title(const Rules& rules, const Facts& facts) {
  if (!rules.title) return {false, "title is off"};
  if (facts.titled) return {false, "it has a title"};
  if (facts.messages < 2) return {false, "nothing was exchanged yet"};
  return {true, fmt::format("no title after {} messages", facts.messages)};
}

Verdict on_compact(const Rules& rules, const Facts& facts, const Limits& at) {
  if (!rules.compact) return {false, fmt::format("compact is off; {}", of_window(facts))};
  if (facts.tokens <= at.compact)
    return {false, fmt::format("{}, not above {}", of_window(facts), at.compact)};
  if (facts.refused_at > 0 && facts.tokens < facts.refused_at + kGrowthTokens)
    return {false, fmt::format("refused at {} tokens; tried again at {}", facts.refused_at,
                               facts.refused_at + kGrowthTokens)};
  return {true, fmt::format("{}, above {}", of_window(facts), at.compact)};
}

Verdict on_flush(const Rules& rules, const Facts& facts, const Limits& at) {
  if (!rules.flush) return {false, "flush is off"};
  if (!rules.compact) return {false, "no compaction will come: compact is off"};
  if (facts.tokens <= at.flush)
    return {false, fmt::format("{}, not above {}", of_window(facts), at.flush)};
  if (facts.flushed_at == facts.compactions)
    return {false, fmt::format("done already since compaction {}", facts.compactions)};
  if (!facts.may_remember) return {false, "the agent cannot use remember"};
  if (!facts.sends) return {false, "its send policy is deny"};
  if (facts.model == "local" || facts.model.starts_with("local/"))
    return {false, "the local model writes no notes of its own accord"};
  return {true, fmt::format("{}, above {}", of_window(facts), at.flush)};
}

}  // namespace

Limits limits(const Rules& rules, std::int64_t window) {
  Limits out;
  out.reserve = std::max(rules.reserve_tokens, rules.reserve_floor);
  out.compact = rules.compact_threshold;
  if (window > 0) {
    // The reserve takes at most half of a small window.
    out.reserve = std::min(out.reserve, window / 2);
    out.compact = std::min(out.compact, window - out.reserve);
  }
  out.flush = std::max<std::int64_t>(out.compact - rules.flush_margin, 0);
  return out;
}

Plan decide(const Rules& rules, const Facts& facts) {
  const auto at = limits(rules, facts.window);
  return {on_title(rules, facts), on_flush(rules, facts, at), on_compact(rules, facts, at)};
}

}  // namespace reef::policy
