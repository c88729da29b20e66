#include "runtime/permission.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/log.h"
#include "base/shield.h"
#include "base/utf8.h"
#include "base/visible.h"

namespace reef::runtime {
namespace {

using Effect = Intent::Effect;

constexpr std::string_view kField = "permissions";
constexpr std::string_view kOnce = "Allow once";
constexpr std::string_view kAlways = "Always allow";
constexpr std::string_view kDeny = "Deny";
// A person is shown the whole call, so its size has a limit.
constexpr std::size_t kShownBytesMax = 128U << 10;
constexpr std::size_t kLongLineBytes = 400;
constexpr std::size_t kRuleBytesMax = 1024;

constexpr std::pair<PermissionMode, std::string_view> kModes[] = {
    {PermissionMode::safe, "safe"},
    {PermissionMode::ask, "ask"},
    {PermissionMode::allow_all, "allow-all"},
};

bool is_granted(const session::Row& row, std::string_view tool, std::string_view rule) {
  const auto* all = json::find_object(row.meta, kField);
  const auto* rules = all ? json::find_object(*all, tool) : nullptr;
  return rules && rules->contains(rule);
}

bool may_last(const Intent& intent) {
  return intent.effect == Effect::changes && !intent.rule.empty() &&
         intent.rule.size() <= kRuleBytesMax;
}

ToolAnswer refused(std::string text) {
  return {std::move(text), true};
}

ToolAnswer refused_in_safe_mode(const std::string& tool, const Intent& intent) {
  return refused(fmt::format(
      "Not done: this session is in safe mode, where tools may look and not touch, and {}. Say "
      "what "
      "you would do, or hand in a plan with submit_plan; the user can change the mode.",
      intent.reason.empty() ? fmt::format("{} may change something", tool) : intent.reason));
}

// Shows the whole text with every character visible. Several lines are counted and numbered, so
// that none can pass for the question's own words or scroll away unnoticed; a long line is shown
// with its length.
std::string shown_to_user(const std::string& head, std::string_view text) {
  const auto clean = utf8::visible(text);
  const auto whole = std::string_view(clean).substr(0, clean.find_last_not_of('\n') + 1);
  const auto lines = std::count(whole.begin(), whole.end(), '\n') + 1;
  if (lines == 1 && whole.size() <= kLongLineBytes) return fmt::format("{}:\n{}", head, whole);
  if (lines == 1) return fmt::format("{}, one line of {} bytes:\n{}", head, whole.size(), whole);
  auto out = fmt::format("{}, {} lines:", head, lines);
  const auto width = std::to_string(lines).size();
  std::size_t at = 0;
  for (std::ptrdiff_t number = 1; number <= lines; ++number) {
    const auto end = std::min(whole.find('\n', at), whole.size());
    out += fmt::format("\n{:>{}} | {}", number, width, whole.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

ToolAnswer too_long_to_ask(const Intent& intent) {
  return refused(fmt::format(
      "Not done: this needs the user's permission, and what is asked about is shown whole: it has "
      "{} bytes, {} are possible. Make it shorter, or put it in a file first.",
      intent.shown.size(), kShownBytesMax));
}

Ask question_about(const std::string& tool, const Intent& intent, const Caller& caller) {
  Question question;
  question.header = "Permission";
  question.text = shown_to_user(
      fmt::format("{} wants to use {}", utf8::excerpt(caller.agent.name), utf8::excerpt(tool)),
      intent.shown);
  if (intent.effect == Effect::dangerous)
    question.text += fmt::format("\nThis may destroy what cannot be had back{}{}",
                                 intent.reason.empty() ? "." : ": ", utf8::visible(intent.reason));
  question.options.push_back({std::string(kOnce), "this call only"});
  if (may_last(intent))
    question.options.push_back(
        {std::string(kAlways),
         fmt::format("{}: {}, in this session", tool,
                     utf8::visible(intent.covers.empty() ? intent.rule : intent.covers))});
  question.options.push_back({std::string(kDeny), "or say what to do instead"});
  Ask ask;
  ask.questions.push_back(std::move(question));
  ask.kind = Ask::Kind::permission;
  return ask;
}

ToolAnswer not_answered(const Error& error) {
  return refused(fmt::format("Not done: this needs the user's permission, and nobody gave it ({}).",
                             error.what));
}

ToolAnswer denied(const UserAnswer& answer) {
  std::string words;
  for (const auto& word : answer)
    if (word != kDeny) words += (words.empty() ? "" : ", ") + word;
  if (words.empty()) return refused("The user denied this call. Do not try it another way.");
  return refused(fmt::format("The user denied this call and says: {}", words));
}

}  // namespace

std::string_view name_of(PermissionMode mode) {
  for (const auto& [value, name] : kModes)
    if (value == mode) return name;
  return "ask";
}

std::optional<PermissionMode> mode_from(std::string_view name) {
  for (const auto& [value, known] : kModes)
    if (known == name) return value;
  return std::nullopt;
}

bool is_local(std::string_view sender, std::string_view key) {
  // For agent:<agent>:<rest> only the rest counts.
  if (key.starts_with("agent:")) {
    key.remove_prefix(6);
    const auto colon = key.find(':');
    key = colon == std::string_view::npos ? std::string_view() : key.substr(colon + 1);
  }
  // A handle is a client's own name for a conversation; an ephemeral turn has none.
  if (key.starts_with(kHandlePrefix) || key.starts_with(kEphemeralPrefix)) key = {};
  return sender.find(':') == std::string_view::npos && key.find(':') == std::string_view::npos;
}

// The owner lets the senders of this session run commands as he may himself.
bool is_elevated(const session::Row& row) {
  const auto level = row.text("elevatedLevel");
  return level == "on" || level == "ask" || level == "full";
}

PermissionMode mode_of(const Agent& agent, bool local, const session::Row& row) {
  if (const auto set = mode_from(row.text("permissionMode"))) return *set;
  if (local) return agent.permission_mode;
  const auto elevated = row.text("elevatedLevel");
  if (elevated == "full") return PermissionMode::allow_all;
  return is_elevated(row) ? agent.permission_mode : agent.remote_permission_mode;
}

std::vector<Grant> grants_of(const session::Row& row) {
  std::vector<Grant> out;
  const auto* all = json::find_object(row.meta, kField);
  if (!all) return out;
  for (const auto& [tool, rules] : *all)
    if (const auto* object = rules.if_object())
      for (const auto& [rule, at] : *object)
        out.push_back({std::string(tool), std::string(rule),
                       at.is_string() ? std::string(at.get_string()) : std::string()});
  std::sort(out.begin(), out.end(), [](const Grant& a, const Grant& b) {
    return std::tie(a.tool, a.rule) < std::tie(b.tool, b.rule);
  });
  return out;
}

Permissions::Permissions(Executor loop, session::Sessions& sessions, Clock& clock)
    : sessions_(sessions), clock_(clock), answered_(std::move(loop)) {}

void Permissions::look_up(Caller& caller) const {
  const auto* row = sessions_.find(caller.session);
  caller.local = is_local(caller.sender, row ? row->key() : std::string_view());
  caller.mode = row ? mode_of(caller.agent, caller.local, *row) : PermissionMode::safe;
  if (row && is_elevated(*row)) caller.agent.remote_bash = true;
}

Task<std::optional<ToolAnswer>> Permissions::refusal(const Toolbox& toolbox,
                                                     const session::ToolCallBlock& call,
                                                     const Caller& caller) {
  const auto intent = toolbox.intent(call, caller);
  if (!intent || intent->effect == Effect::reads) co_return std::nullopt;
  const auto about = caller.session.text() + '\0' + call.name + '\0' + intent->rule;
  for (;;) {
    // Look again: the mode may have changed while another call waited for an answer.
    auto now = caller;
    look_up(now);
    if (now.mode == PermissionMode::safe) co_return refused_in_safe_mode(call.name, *intent);
    if (intent->effect == Effect::changes) {
      const auto* row = sessions_.find(caller.session);
      const bool granted =
          row && !intent->rule.empty() && is_granted(*row, call.name, intent->rule);
      if (granted || now.mode == PermissionMode::allow_all) co_return std::nullopt;
    }
    if (intent->rule.empty() || !asking_.contains(about)) break;
    co_await answered_.wait();
  }
  struct Asking {
    Permissions& all;
    const std::string& about;
    ~Asking() {
      all.asking_.erase(about);
      all.answered_.notify_all();
    }
  };
  asking_.insert(about);
  const Asking asking{*this, about};
  co_return co_await ask(call.name, *intent, caller);
}

Task<std::optional<ToolAnswer>> Permissions::ask(const std::string& tool, const Intent& intent,
                                                 const Caller& caller) {
  if (!caller.ask)
    co_return not_answered(Error(Errc::unsupported, "there is nobody who could be asked"));
  if (intent.shown.size() > kShownBytesMax) co_return too_long_to_ask(intent);
  const auto answers = co_await caller.ask(question_about(tool, intent, caller));
  if (!answers) co_return not_answered(answers.error());
  const auto answer = answers->empty() ? UserAnswer() : answers->front();
  if (answer.size() != 1 || (answer[0] != kOnce && answer[0] != kAlways)) {
    log::info("session {}: {} denied by the user", caller.session.text(), tool);
    co_return denied(answer);
  }
  if (answer[0] != kAlways || !may_last(intent)) co_return std::nullopt;
  const auto* row = sessions_.find(caller.session);
  if (row && grants_of(*row).size() >= kGrantsMax) {
    log::warn("session {}: {} permissions are kept; no more", caller.session.text(), kGrantsMax);
    co_return std::nullopt;
  }
  json::object facts{
      {kField, json::object{{tool, json::object{{intent.rule, format_iso(clock_.now())}}}}}};
  const auto kept = co_await shielded(sessions_.set_facts(caller.session, std::move(facts)));
  // The user said yes, so the call is made; asking again next time is the lesser harm.
  if (!kept)
    log::error("session {}: the permission could not be kept: {}", caller.session.text(),
               kept.error().what);
  co_return std::nullopt;
}

Task<Status> Permissions::revoke(session::SessionId id, std::string tool, std::string rule) {
  const auto* row = sessions_.find(id);
  if (!row) co_return session::no_session(id);
  json::object gone;
  for (const auto& grant : grants_of(*row)) {
    if (!tool.empty() && grant.tool != tool) continue;
    if (!rule.empty() && grant.rule != rule) continue;
    auto& rules = gone[grant.tool];
    if (!rules.is_object()) rules = json::object();
    rules.get_object()[grant.rule] = nullptr;
  }
  if (gone.empty())
    co_return Error(Errc::not_found, fmt::format("no such permission in session {}", id.text()));
  co_return co_await shielded(sessions_.set_facts(id, json::object{{kField, std::move(gone)}}));
}

}  // namespace reef::runtime
