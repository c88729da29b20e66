#include "hooks/sessions/sessions_hook.h"

#include <fmt/format.h>

#include "base/utf8.h"
#include "hooks/description.h"
#include "hooks/sight.h"

namespace reef::hooks {
namespace {

using runtime::Agent;
using runtime::ToolAnswer;
using Type = Parameter::Type;

constexpr std::int64_t kHitsDefault = 5;
constexpr std::int64_t kWindowDefault = 4;
constexpr std::int64_t kMessagesDefault = 20;
constexpr std::int64_t kMessagesMax = 100;
constexpr std::size_t kMessageBytesMax = 4096;

const Parameter kLimit{.name = "limit",
                       .type = Type::integer,
                       .description = "How many conversations at most.",
                       .min = 1,
                       .max = static_cast<std::int64_t>(recall::kHitsMax)};
const Parameter kBefore{.name = "context_before",
                        .type = Type::integer,
                        .description = "Messages shown before each match.",
                        .max = static_cast<std::int64_t>(recall::kWindowMax - 1)};
const Parameter kAfter{.name = "context_after",
                       .type = Type::integer,
                       .description = "Messages shown after each match.",
                       .max = static_cast<std::int64_t>(recall::kWindowMax - 1)};
const Description kSearch{
    "search_sessions",
    "Search everything that was said in earlier conversations. Plain words work best; \"a "
    "phrase\", "
    "+required, -excluded and begin* work too.",
    {{.name = "query", .description = "What to look for.", .required = true},
     {.name = "filters",
      .description = "Which conversations: for example role:tool after:2026-01-01 status:done "
                     "agent:NAME in:SESSION."},
     kLimit,
     kBefore,
     kAfter}};

const Parameter kOffset{
    .name = "offset", .type = Type::integer, .description = "Number of the first message, from 0."};
const Parameter kCount{.name = "limit",
                       .type = Type::integer,
                       .description = "How many messages at most.",
                       .min = 1,
                       .max = kMessagesMax};
const Description kList{
    "list_messages",
    "Read messages of an earlier conversation in order, for example around a match of "
    "search_sessions.",
    {{.name = "id", .description = "The session, as search_sessions names it.", .required = true},
     kOffset,
     kCount}};

// "user", "assistant", "tool:bash".
std::string label_of(const recall::Item& item) {
  if (!item.agent.empty()) return fmt::format("{} ({})", name_of(item.role), item.agent);
  return item.tool.empty() ? std::string(name_of(item.role))
                           : fmt::format("{}:{}", name_of(item.role), item.tool);
}

// Titles and summaries are not messages and have no number.
bool is_message(const recall::Item& item) {
  return item.role != recall::Role::title && item.role != recall::Role::summary;
}

std::string line_of(const recall::Item& item) {
  const auto number = is_message(item) ? fmt::format(" #{}", item.index) : std::string();
  return fmt::format("- [{}{}] {}{}\n", label_of(item), number, utf8::single_line(item.snippet),
                     item.truncated ? " …" : "");
}

std::string matched(const recall::Item& item) {
  return is_message(item) ? fmt::format("matched message #{}", item.index)
                          : fmt::format("matched the {}", name_of(item.role));
}

}  // namespace

std::vector<model::Tool> SessionsHook::tools(const Agent&) const {
  return {tool_from(kList), tool_from(kSearch)};
}

std::string SessionsHook::prompt(const Agent&) const {
  return "<sessions>\n"
         "Every earlier conversation is kept. When the user speaks of something that was said, "
         "decided or done before and it is not in this conversation, look with search_sessions "
         "before you answer, and read on with list_messages where a match is cut. Say which "
         "session an answer comes from.\n"
         "</sessions>";
}

runtime::Intent SessionsHook::intent(const std::string& tool, const json::object&,
                                     const runtime::Caller&) const {
  return {runtime::Intent::Effect::reads, tool, {}, {}};
}

Task<ToolAnswer> SessionsHook::call(std::string tool, json::object arguments,
                                    runtime::Caller caller) {
  if (tool == kSearch.name) co_return co_await search(arguments, caller);
  co_return co_await list(arguments, caller);
}

Task<ToolAnswer> SessionsHook::search(const json::object& arguments,
                                      const runtime::Caller& caller) {
  if (const auto good = check(kSearch, arguments); !good) co_return failed(good.error().what);
  recall::Ask ask;
  ask.query = text_of(arguments, "query");
  if (const auto filters = text_of(arguments, "filters"); !filters.empty())
    ask.query += " " + filters;
  ask.limit = static_cast<std::size_t>(integer_of(arguments, kLimit, kHitsDefault));
  ask.before = static_cast<std::size_t>(integer_of(arguments, kBefore, kWindowDefault));
  ask.after = static_cast<std::size_t>(integer_of(arguments, kAfter, kWindowDefault));
  // The model has this session in its context already.
  ask.exclude = caller.session;
  ask.allowed = seen_by(caller);
  ask.filter = make_test_;
  auto found = co_await recall_.search(std::move(ask));
  if (!found) co_return failed(found.error().what);
  std::string text;
  for (const auto& hit : found->hits) {
    const auto* row = sessions_.find(hit.session);
    if (!row) continue;  // gone while it was read
    const auto& match = hit.items[hit.hit];
    if (!text.empty()) text += "---\n";
    text +=
        fmt::format("## {}\nsession: {} · agent: {} · sender: {}\n",
                    row->text("name").empty() ? "(untitled)" : utf8::single_line(row->text("name")),
                    hit.session.text(), row->agent(), row->sender());
    text += fmt::format("updated: {} · {} · said: {}\n", format_iso(row->last_used()),
                        matched(match), format_iso(match.time));
    for (const auto& item : hit.items) text += line_of(item);
  }
  if (text.empty()) co_return ToolAnswer{"no sessions found"};
  co_return ToolAnswer{std::move(text)};
}

Task<ToolAnswer> SessionsHook::list(const json::object& arguments, const runtime::Caller& caller) {
  if (const auto good = check(kList, arguments); !good) co_return failed(good.error().what);
  const auto wanted = text_of(arguments, "id");
  const auto id = session::SessionId::parse(wanted);
  const auto* row = id ? sessions_.find(*id) : nullptr;
  const auto seen = seen_by(caller);
  // A session that may not be seen looks like one that does not exist.
  if (!row || (seen && !seen(*row)))
    co_return failed(fmt::format("no session: {}", utf8::excerpt(wanted)));
  const auto offset = static_cast<std::uint64_t>(integer_of(arguments, kOffset, 0));
  const auto count = static_cast<std::size_t>(integer_of(arguments, kCount, kMessagesDefault));
  const auto listed = co_await recall_.list_messages(*id, offset, count, kMessageBytesMax);
  if (!listed) co_return failed(listed.error().what);
  if (listed->items.empty())
    co_return ToolAnswer{fmt::format("no messages there; the session has {}", listed->total)};
  std::string text;
  for (const auto& item : listed->items) text += line_of(item);
  text += fmt::format("({} to {} of {} messages)", offset, offset + listed->items.size() - 1,
                      listed->total);
  co_return ToolAnswer{std::move(text)};
}

}  // namespace reef::hooks
