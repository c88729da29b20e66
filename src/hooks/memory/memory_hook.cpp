#include "hooks/memory/memory_hook.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "base/utf8.h"
#include "hooks/description.h"
#include "hooks/sight.h"

namespace reef::hooks {
namespace {

using memory::Memory;
using runtime::ToolAnswer;
using Type = Parameter::Type;

constexpr std::int64_t kRecallDefault = 5;
constexpr std::int64_t kRecallMax = 20;
// The limit for one entry in an answer, because a model's context is limited.
constexpr std::size_t kRecalledBytesMax = 16U << 10;

const Description kForget{
    "forget",
    "Delete a note from your memory.",
    {{.name = "name", .description = "Name or alias of the note.", .required = true}}};

const Parameter kLimit{.name = "limit",
                       .type = Type::integer,
                       .description = "How many matches at most.",
                       .min = 1,
                       .max = kRecallMax};
const Description kRecall{
    "recall",
    "Search your memory: your notes and the archives of earlier conversations. Any of the words "
    "counts; the best matches come first.",
    {{.name = "query", .description = "What to look for, in plain words.", .required = true},
     kLimit}};

const Description kRemember{
    "remember",
    "Keep a note in your memory for later conversations. An old note of that name gets the new "
    "content.",
    {{.name = "name", .description = "Short name of the note.", .required = true},
     {.name = "content",
      .description = "What to remember; it must make sense on its own.",
      .required = true},
     {.name = "aliases",
      .type = Type::texts,
      .description = "Other names it may be looked for by."}}};

Task<ToolAnswer> remember(Memory& memory, const json::object& arguments) {
  if (const auto good = check(kRemember, arguments); !good) co_return failed(good.error().what);
  memory::Remember operation{text_of(arguments, "name"), text_of(arguments, "content"), {}};
  if (const auto* aliases = json::find_array(arguments, "aliases")) {
    operation.aliases.emplace();
    for (const auto& alias : *aliases) operation.aliases->emplace_back(alias.get_string());
  }
  const auto done = co_await memory.apply(std::move(operation));
  if (!done) co_return failed(done.error().what);
  co_return ToolAnswer{fmt::format("remembered: {}", (*done)->name)};
}

Task<ToolAnswer> forget(Memory& memory, const json::object& arguments) {
  if (const auto good = check(kForget, arguments); !good) co_return failed(good.error().what);
  const auto name = text_of(arguments, "name");
  const auto done = co_await memory.apply(memory::Forget{name});
  if (done) co_return ToolAnswer{fmt::format("forgot: {}", name)};
  if (done.error().code == Errc::not_found)
    co_return failed(fmt::format("no entry named: {}", name));
  co_return failed(done.error().what);
}

// A compaction names its archive SESSION-NUMBER. nullptr when that session does not exist.
const session::Row* session_of(const session::Sessions& sessions, std::string_view archive) {
  const auto id = session::SessionId::parse(archive.substr(0, archive.rfind('-')));
  return id ? sessions.find(*id) : nullptr;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Whether the id begins with a day, as our sessions' do: 261115-swift-river.
bool has_day(std::string_view id) {
  constexpr std::size_t kDigits = 6;
  return id.size() > kDigits + 1 && id[kDigits] == '-' &&
         std::all_of(id.begin(), id.begin() + kDigits, is_digit);
}

// Imported sessions may keep a uuid as their id.
bool is_uuid(std::string_view id) {
  constexpr std::string_view kShape = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  constexpr std::string_view kHex = "0123456789abcdefABCDEF";
  return std::equal(id.begin(), id.end(), kShape.begin(), kShape.end(), [&](char c, char shape) {
    return shape == '-' ? c == '-' : kHex.find(c) != std::string_view::npos;
  });
}

// Whether a compaction here gave that name, even when its session no longer exists. Archives of
// other programs can have similar names, because their session ids may be nearly anything.
bool names_session(std::string_view archive) {
  const auto dash = archive.rfind('-');
  if (dash == std::string_view::npos || dash + 1 == archive.size()) return false;
  const auto id = archive.substr(0, dash), number = archive.substr(dash + 1);
  return std::all_of(number.begin(), number.end(), is_digit) && (has_day(id) || is_uuid(id));
}

// An archive says what was said in a conversation, so it is hidden where the conversation is.
class ArchiveSight {
 public:
  ArchiveSight(const session::Sessions& sessions, const runtime::Caller& caller)
      : sessions_(sessions),
        seen_(seen_by(caller)),
        gone_(sees_gone(caller)),
        unknown_(sees_unknown(caller)) {}

  bool sees(const memory::Entry& entry) const {
    if (entry.kind != memory::Kind::archive || !seen_) return true;
    bool known = false;
    // A renamed archive has its first name as an alias.
    const auto hidden = [&](std::string_view name) {
      const auto* row = session_of(sessions_, name);
      known = known || row;
      return row ? !seen_(*row) : !gone_ && names_session(name);
    };
    if (hidden(entry.name)) return false;
    for (const auto& alias : entry.aliases)
      if (hidden(alias)) return false;
    return known || unknown_;
  }

 private:
  const session::Sessions& sessions_;
  recall::RowTest seen_;
  bool gone_, unknown_;
};

void add(std::string& text, const memory::Entry& entry) {
  if (!text.empty()) text += "\n---\n";
  const auto shown = utf8::prefix(entry.content, kRecalledBytesMax);
  text += fmt::format("## {}\n{}", entry.name, shown);
  if (shown.size() < entry.content.size())
    text += fmt::format("\n[cut here; it has {} bytes]", entry.content.size());
}

}  // namespace

std::vector<model::Tool> MemoryHook::tools(const runtime::Agent&) const {
  return {tool_from(kForget), tool_from(kRecall), tool_from(kRemember)};
}

std::string MemoryHook::prompt(const runtime::Agent&) const {
  return "<memory>\n"
         "You have a memory that outlives this conversation. It holds notes you wrote and archives "
         "of earlier conversations.\n"
         "- recall before you answer a question about the user, their work, or anything decided "
         "earlier that is not in this conversation. Nothing is recalled unless you ask.\n"
         "- remember what will matter again: preferences, decisions and their reasons, names, "
         "places, how something is done here. One subject a note, in words that make sense alone; "
         "add aliases for other words one might look for. Remember it when you learn it.\n"
         "- When something changes, remember it under the same name; when it is no longer true, "
         "forget it. Archives cannot be changed.\n"
         "- Do not keep secrets such as passwords and keys unless you are asked to.\n"
         "</memory>";
}

Task<ToolAnswer> MemoryHook::recall(Memory& memory, const json::object& arguments,
                                    const runtime::Caller& caller) const {
  if (const auto good = check(kRecall, arguments); !good) co_return failed(good.error().what);
  auto left = integer_of(arguments, kLimit, kRecallDefault);
  // Asks for all matches, because hidden ones must not take the place of others.
  const auto hits =
      co_await memory.recall(text_of(arguments, "query"), std::numeric_limits<std::size_t>::max());
  if (!hits) co_return failed(hits.error().what);
  const ArchiveSight sight(sessions_, caller);
  std::string text;
  for (auto hit = hits->begin(); hit != hits->end() && left > 0; ++hit) {
    if (!sight.sees(*hit->entry)) continue;
    add(text, *hit->entry);
    --left;
  }
  co_return ToolAnswer{text.empty() ? "no memories found" : std::move(text)};
}

runtime::Intent MemoryHook::intent(const std::string& tool, const json::object&,
                                   const runtime::Caller&) const {
  return {runtime::Intent::Effect::reads, tool, {}, {}};
}

Task<ToolAnswer> MemoryHook::call(std::string tool, json::object arguments,
                                  runtime::Caller caller) {
  const auto memory = memories_.of(caller.agent.name);
  if (!memory) co_return failed(memory.error().what);
  if (tool == kRemember.name) co_return co_await remember(**memory, arguments);
  if (tool == kForget.name) co_return co_await forget(**memory, arguments);
  co_return co_await recall(**memory, arguments, caller);
}

}  // namespace reef::hooks
