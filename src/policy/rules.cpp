#include "policy/rules.h"

#include <charconv>

#include <fmt/format.h>

#include "base/utf8.h"

namespace reef::policy {
namespace {

constexpr std::int64_t kTokensMax = 1'000'000'000;
constexpr std::int64_t kDaysMax = 36'500;
constexpr std::size_t kPromptBytesMax = 16U << 10;

struct Flag {
  std::string_view name;
  bool Rules::*member;
};
struct Number {
  std::string_view name;
  std::int64_t Rules::*member;
  std::int64_t min, max;
};

constexpr Flag kFlags[] = {{"compact", &Rules::compact},
                           {"flush", &Rules::flush},
                           {"title", &Rules::title},
                           {"recall", &Rules::recall}};
constexpr Number kNumbers[] = {
    {"compact_threshold", &Rules::compact_threshold, 1'000, kTokensMax},
    {"reserve_tokens", &Rules::reserve_tokens, 0, kTokensMax},
    {"reserve_floor", &Rules::reserve_floor, 0, kTokensMax},
    {"flush_margin", &Rules::flush_margin, 0, kTokensMax},
    {"archive_days", &Rules::archive_days, 0, kDaysMax},
};
constexpr std::string_view kPrompt = "flush_prompt";
struct Words {
  std::string_view name;
  std::string Rules::*member;
};
constexpr Words kWords[] = {{kPrompt, &Rules::flush_prompt},
                            {"flush_system_prompt", &Rules::flush_system_prompt}};

Error refuse(std::string_view name, std::string_view why) {
  return Error(Errc::invalid, fmt::format("policy.{}: {}", utf8::excerpt(name), why));
}

Error unknown(std::string_view name) {
  std::string known = fmt::format("{}, {}", kWords[0].name, kWords[1].name);
  for (const auto& flag : kFlags) known += fmt::format(", {}", flag.name);
  for (const auto& number : kNumbers) known += fmt::format(", {}", number.name);
  return refuse(name, fmt::format("there is no such rule; there are: {}", known));
}

Status set(Rules& rules, std::string_view name, const json::value& value) {
  for (const auto& flag : kFlags) {
    if (flag.name != name) continue;
    if (!value.is_bool()) return refuse(name, "must be true or false");
    rules.*flag.member = value.get_bool();
    return Ok{};
  }
  for (const auto& number : kNumbers) {
    if (number.name != name) continue;
    if (!value.is_int64() || value.get_int64() < number.min || value.get_int64() > number.max)
      return refuse(name,
                    fmt::format("must be a whole number from {} to {}", number.min, number.max));
    rules.*number.member = value.get_int64();
    return Ok{};
  }
  for (const auto& words : kWords) {
    if (words.name != name) continue;
    if (!value.is_string() || value.get_string().size() > kPromptBytesMax)
      return refuse(name, fmt::format("must be a text of at most {} bytes", kPromptBytesMax));
    rules.*words.member = value.get_string();
    return Ok{};
  }
  return unknown(name);
}

json::value value_of(std::string_view text) {
  if (text == "on" || text == "true") return true;
  if (text == "off" || text == "false") return false;
  std::int64_t number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed == std::errc() && end == text.data() + text.size()) return number;
  return json::value(text);
}

}  // namespace

const std::string_view kFlushPrompt =
    "This conversation is about to be shortened to a summary. Write down now, with the remember "
    "tool, what must outlive it: decisions and their reasons, facts about the user and the work, "
    "open tasks. Change notes that exist rather than repeating them. Then answer NO_REPLY; answer "
    "NO_REPLY at once when there is nothing worth keeping.";

Status override_with(Rules& rules, const json::object& changes) {
  auto changed = rules;
  for (const auto& [name, value] : changes) REEF_CHECK(set(changed, name, value));
  rules = std::move(changed);
  return Ok{};
}

Status override_with(Rules& rules, const std::vector<std::string>& changes) {
  auto changed = rules;
  for (const std::string_view change : changes) {
    const auto at = change.find('=');
    if (at == std::string_view::npos) return refuse(change, "must be written NAME=VALUE");
    REEF_CHECK(set(changed, change.substr(0, at), value_of(change.substr(at + 1))));
  }
  rules = std::move(changed);
  return Ok{};
}

json::object to_json(const Rules& rules) {
  json::object out;
  for (const auto& flag : kFlags) out[flag.name] = rules.*flag.member;
  for (const auto& number : kNumbers) out[number.name] = rules.*number.member;
  out["flush_system_prompt"] = rules.flush_system_prompt;
  out[kPrompt] = rules.flush_prompt.empty() ? kFlushPrompt : std::string_view(rules.flush_prompt);
  return out;
}

}  // namespace reef::policy
