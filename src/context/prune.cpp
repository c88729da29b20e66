#include "context/prune.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/utf8.h"
#include "context/estimate.h"

namespace reef::context {
namespace {

using session::MessagePtr;
using session::ToolResultMessage;

// Returns where the results that may be pruned end.
std::size_t end_of_old(const std::vector<MessagePtr>& messages, int keep_replies) {
  int replies = 0;
  for (auto i = messages.size(); i > 0; --i) {
    if (!std::holds_alternative<session::AssistantMessage>(*messages[i - 1])) continue;
    if (++replies == keep_replies) return i - 1;
  }
  return 0;
}

const ToolResultMessage* prunable(const MessagePtr& message, const PruneRules& rules) {
  const auto* result = std::get_if<ToolResultMessage>(message.get());
  if (!result) return nullptr;
  const auto& kept = rules.protected_tools;
  if (std::find(kept.begin(), kept.end(), result->tool_name) != kept.end()) return nullptr;
  for (const auto& block : result->content)
    if (!std::holds_alternative<session::TextBlock>(block)) return nullptr;
  return result;
}

MessagePtr with_text(const ToolResultMessage& result, std::string text) {
  auto copy = result;
  copy.content = {session::TextBlock{std::move(text)}};
  return std::make_shared<const session::Message>(std::move(copy));
}

MessagePtr shortened(const ToolResultMessage& result, const PruneRules& rules) {
  const auto text = session::text_of(result.content);
  if (text.size() <= std::max(rules.long_chars, rules.head_chars + rules.tail_chars))
    return nullptr;
  const auto head = utf8::prefix(text, rules.head_chars);
  auto from = text.size() - rules.tail_chars;
  while (from < text.size() && (static_cast<unsigned char>(text[from]) & 0xC0U) == 0x80U) ++from;
  return with_text(result, fmt::format("{}\n...\n{}\n[shortened: the result had {} bytes]", head,
                                       std::string_view(text).substr(from), text.size()));
}

std::int64_t tokens_of(const std::vector<MessagePtr>& messages) {
  std::int64_t sum = 0;
  for (const auto& message : messages) sum += estimate(*message);
  return sum;
}

}  // namespace

Pruned prune(std::vector<MessagePtr> messages, std::int64_t window, const PruneRules& rules,
             PruneState state) {
  Pruned out{std::move(messages), state, 0};
  if (!rules.on || window <= 0) return out;
  const auto before = tokens_of(out.messages);
  auto total = before;
  const auto old = end_of_old(out.messages, rules.keep_replies);

  const auto replace = [&](std::size_t i, MessagePtr with) {
    total += estimate(*with) - estimate(*out.messages[i]);
    out.messages[i] = std::move(with);
  };
  const auto shorten = [&](std::size_t i) {
    const auto* result = prunable(out.messages[i], rules);
    if (!result) return;
    if (auto shorter = shortened(*result, rules)) replace(i, std::move(shorter));
  };
  const auto clear = [&](std::size_t i) {
    const auto* result = prunable(out.messages[i], rules);
    if (result)
      replace(i, with_text(*result, "[an old result, left out; call the tool again if needed]"));
  };
  const auto limit = [&](double share) {
    return static_cast<std::int64_t>(share * static_cast<double>(window));
  };

  // Repeats earlier pruning, then goes further only if that is not enough. A rewound branch may be
  // shorter than the state says.
  const auto again = std::min(state.shortened, out.messages.size());
  for (std::size_t i = 0; i < again; ++i) shorten(i);
  for (std::size_t i = 0; i < std::min(state.cleared, again); ++i) clear(i);
  std::int64_t room = 0;  // that further shortening would free
  for (auto i = again; i < old; ++i) {
    const auto* result = prunable(out.messages[i], rules);
    const auto shorter = result ? shortened(*result, rules) : nullptr;
    if (shorter) room += estimate(*out.messages[i]) - estimate(*shorter);
  }
  if (total >= limit(rules.soft_share) && room >= limit(rules.step_share)) {
    for (auto i = again; i < old; ++i) shorten(i);
    out.state.shortened = old;
  }
  if (total >= limit(rules.hard_share)) {
    // Clears half of the excess at once, so that not every request has to.
    const auto wanted = limit((rules.soft_share + rules.hard_share) / 2);
    auto i = std::min(state.cleared, old);
    for (; i < old && total > wanted; ++i) clear(i);
    out.state.cleared = std::max(state.cleared, i);
  }
  out.saved = before - total;
  return out;
}

}  // namespace reef::context
