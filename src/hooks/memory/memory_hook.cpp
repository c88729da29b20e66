#include "hooks/memory/memory_hook.h"

#include <fmt/format.h>

#include "base/utf8.h"
#include "hooks/description.h"

namespace reef::hooks {
namespace {

using memory::Memory;
using runtime::ToolAnswer;
using Type = Parameter::Type;

constexpr std::int64_t kRecallDefault = 5;
constexpr std::int64_t kRecallMax = 20;
// Of one entry in an answer: a model's context is not endless.
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

Task<ToolAnswer> recall(Memory& memory, const json::object& arguments) {
  if (const auto good = check(kRecall, arguments); !good) co_return failed(good.error().what);
  const auto limit = static_cast<std::size_t>(integer_of(arguments, kLimit, kRecallDefault));
  const auto hits = co_await memory.recall(text_of(arguments, "query"), limit);
  if (!hits) co_return failed(hits.error().what);
  if (hits->empty()) co_return ToolAnswer{"no memories found"};
  std::string text;
  for (const auto& hit : *hits) {
    if (!text.empty()) text += "\n---\n";
    const auto shown = utf8::prefix(hit.entry->content, kRecalledBytesMax);
    text += fmt::format("## {}\n{}", hit.entry->name, shown);
    if (shown.size() < hit.entry->content.size())
      text += fmt::format("\n[cut here; it has {} bytes]", hit.entry->content.size());
  }
  co_return ToolAnswer{std::move(text)};
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
  co_return co_await recall(**memory, arguments);
}

}  // namespace reef::hooks
