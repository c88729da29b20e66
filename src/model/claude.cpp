#include "model/claude.h"

#include <algorithm>
#include <charconv>

namespace reef::model::claude {
namespace {

constexpr std::int64_t kMaxTokensDefault = 8192;
constexpr std::int64_t kBudgetMin = 1024;
// The least that must remain for the answer after the thoughts.
constexpr std::int64_t kAnswerMin = 1024;

std::int64_t budget_of(ThinkingLevel level) {
  switch (level) {
    case ThinkingLevel::off:
      return 0;
    case ThinkingLevel::minimal:
      return kBudgetMin;
    case ThinkingLevel::low:
      return 2048;
    case ThinkingLevel::medium:
      return 8192;
    case ThinkingLevel::high:
      return 16384;
    case ThinkingLevel::xhigh:
      return 32768;
  }
  return 0;
}

bool is_adaptive(std::string_view model) {
  return version_of(model) >= std::pair(4, 6);
}

std::string_view effort_of(ThinkingLevel level, std::string_view model) {
  switch (level) {
    case ThinkingLevel::off:
    case ThinkingLevel::minimal:
    case ThinkingLevel::low:
      return "low";
    case ThinkingLevel::medium:
      return "medium";
    case ThinkingLevel::high:
      return "high";
    // Only the largest models accept "max".
    case ThinkingLevel::xhigh:
      return model.find("opus") != std::string_view::npos ? "max" : "high";
  }
  return "medium";
}

bool may_think(const Conversation& conversation, std::string_view model) {
  if (is_adaptive(model)) return true;
  const Turn* first = nullptr;
  for (auto i = conversation.turns.size(); i > 0; --i) {
    const auto& turn = conversation.turns[i - 1];
    if (turn.role == Turn::Role::assistant) {
      first = &turn;
    } else if (!std::holds_alternative<ResultPiece>(turn.pieces.front())) {
      break;
    }
  }
  return !first || std::holds_alternative<ThinkingPiece>(first->pieces.front());
}

}  // namespace

std::pair<int, int> version_of(std::string_view model) {
  const auto claude = model.find("claude");
  if (claude == std::string_view::npos) return {0, 0};
  std::vector<int> numbers;
  auto rest = model.substr(claude);
  while (!rest.empty() && numbers.size() < 2) {
    const auto end = std::min(rest.find_first_of("-.@:"), rest.size());
    const auto word = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    int number = 0;
    const auto [stop, failed] = std::from_chars(word.data(), word.data() + word.size(), number);
    const bool whole = failed == std::errc() && stop == word.data() + word.size();
    // A longer number is a date, and the two parts of a version are adjacent.
    if (whole && word.size() <= 2) {
      numbers.push_back(number);
    } else if (!numbers.empty()) {
      break;
    }
  }
  return {!numbers.empty() ? numbers[0] : 0, numbers.size() > 1 ? numbers[1] : 0};
}

Lengths lengths(const Request& request, const ModelFacts& facts, bool thinking) {
  const auto most = facts.max_output > 0 ? facts.max_output : kMaxTokensDefault;
  Lengths out;
  out.max_tokens = std::max<std::int64_t>(1, request.max_tokens.value_or(most));
  if (!thinking) return out;
  if (is_adaptive(request.model)) {
    out.fields["thinking"] = json::object{{"type", "adaptive"}};
    out.fields["output_config"] =
        json::object{{"effort", effort_of(request.thinking, request.model)}};
    return out;
  }
  auto budget = budget_of(request.thinking);
  // The caller's limit is for the answer; thoughts are added to it, as far as the model allows.
  if (request.max_tokens)
    out.max_tokens = std::min(out.max_tokens + budget, std::max(most, out.max_tokens));
  budget = std::min(budget, out.max_tokens - kAnswerMin);
  if (budget >= kBudgetMin)
    out.fields["thinking"] = json::object{{"type", "enabled"}, {"budget_tokens", budget}};
  return out;
}

ConversationRules rules(std::string_view api, Thoughts thoughts) {
  ConversationRules out;
  out.api = api;
  out.id = NameRule{"_-", 64, false};
  out.name = NameRule{"_-", 64, false};
  out.thoughts = thoughts;
  out.calls_need_tools = true;
  out.image_types = kCommonImageTypes;
  return out;
}

Prepared prepare(const Request& request, const ModelFacts& facts, std::string_view api,
                 bool can_think) {
  const auto mode = request.tool_choice.mode;
  const bool forced = !request.tools.empty() &&
                      (mode == ToolChoice::Mode::required || mode == ToolChoice::Mode::named);
  if (can_think && request.thinking != ThinkingLevel::off && !forced) {
    auto conversation = model::prepare(request, facts, rules(api, Thoughts::own_signed));
    if (may_think(conversation, request.model)) return {std::move(conversation), true};
  }
  return {model::prepare(request, facts, rules(api, Thoughts::none)), false};
}

}  // namespace reef::model::claude
