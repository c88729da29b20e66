#include "memory/tools.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/utf8.h"

namespace reef::memory {
namespace {

constexpr std::size_t kRecallMax = 20;
// Of one entry in an answer: a model's context is not endless.
constexpr std::size_t kRecalledBytesMax = 16U << 10;

json::object text_schema(std::string_view description) {
  return {{"type", "string"}, {"description", description}};
}

json::object object_schema(json::object properties, json::array required) {
  return {
      {"type", "object"}, {"properties", std::move(properties)}, {"required", std::move(required)}};
}

ToolAnswer failed(std::string text) {
  return {std::move(text), true};
}

ToolAnswer invalid(std::string_view why) {
  return failed(fmt::format("invalid arguments: {}", why));
}

Result<std::string> text_argument(const json::object& arguments, std::string_view key) {
  const auto text = json::find_string(arguments, key);
  if (!text) return Error(Errc::invalid, fmt::format("'{}' must be a text", key));
  return std::string(*text);
}

Result<std::optional<std::vector<std::string>>> aliases_argument(const json::object& arguments) {
  const auto* given = arguments.if_contains("aliases");
  if (!given || given->is_null()) return std::optional<std::vector<std::string>>();
  if (!given->is_array()) return Error(Errc::invalid, "'aliases' must be a list of texts");
  std::vector<std::string> aliases;
  for (const auto& alias : given->get_array()) {
    if (!alias.is_string()) return Error(Errc::invalid, "'aliases' must be a list of texts");
    aliases.emplace_back(alias.get_string());
  }
  return std::optional(std::move(aliases));
}

Result<std::size_t> limit_argument(const json::object& arguments, std::size_t otherwise) {
  const auto* given = arguments.if_contains("limit");
  if (!given || given->is_null()) return otherwise;
  const auto limit = json::find_int(arguments, "limit");
  if (!limit || *limit < 0) return Error(Errc::invalid, "'limit' must be a whole number");
  return std::clamp<std::size_t>(static_cast<std::size_t>(*limit), 1, kRecallMax);
}

Task<ToolAnswer> remember(Memory& memory, const json::object& arguments) {
  auto name = text_argument(arguments, "name");
  if (!name) co_return invalid(name.error().what);
  auto content = text_argument(arguments, "content");
  if (!content) co_return invalid(content.error().what);
  auto aliases = aliases_argument(arguments);
  if (!aliases) co_return invalid(aliases.error().what);
  const auto done =
      co_await memory.apply(Remember{*std::move(name), *std::move(content), *std::move(aliases)});
  if (!done) co_return failed(done.error().what);
  co_return ToolAnswer{fmt::format("remembered: {}", (*done)->name)};
}

Task<ToolAnswer> forget(Memory& memory, const json::object& arguments) {
  const auto name = text_argument(arguments, "name");
  if (!name) co_return invalid(name.error().what);
  const auto done = co_await memory.apply(Forget{*name});
  if (done) co_return ToolAnswer{fmt::format("forgot: {}", *name)};
  if (done.error().code == Errc::not_found)
    co_return failed(fmt::format("no entry named: {}", *name));
  co_return failed(done.error().what);
}

Task<ToolAnswer> recall(Memory& memory, const json::object& arguments, std::size_t otherwise) {
  auto query = text_argument(arguments, "query");
  if (!query) co_return invalid(query.error().what);
  const auto limit = limit_argument(arguments, otherwise);
  if (!limit) co_return invalid(limit.error().what);
  const auto hits = co_await memory.recall(*std::move(query), *limit);
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

std::vector<Tool> tools() {
  return {
      {"forget", "Delete a note from your memory.",
       object_schema({{"name", text_schema("Name or alias of the note.")}}, {"name"})},
      {"recall",
       "Search your memory: your notes and the archives of earlier conversations. Any of the words "
       "counts; the best matches come first.",
       object_schema({{"query", text_schema("What to look for, in plain words.")},
                      {"limit",
                       {{"type", "integer"},
                        {"minimum", 1},
                        {"maximum", kRecallMax},
                        {"description", "How many matches at most."}}}},
                     {"query"})},
      {"remember",
       "Keep a note in your memory for later conversations. An old note of that name gets the new "
       "content.",
       object_schema({{"name", text_schema("Short name of the note.")},
                      {"content", text_schema("What to remember; it must make sense on its own.")},
                      {"aliases",
                       {{"type", "array"},
                        {"items", {{"type", "string"}}},
                        {"description", "Other names it may be looked for by."}}}},
                     {"name", "content"})},
  };
}

std::string_view prompt_fragment() {
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

Task<ToolAnswer> call_tool(Memory& memory, std::string name, json::value arguments,
                           std::size_t recall_limit) {
  if (!arguments.is_object()) co_return invalid("they must be an object");
  const auto& object = arguments.get_object();
  if (name == "remember") co_return co_await remember(memory, object);
  if (name == "forget") co_return co_await forget(memory, object);
  if (name == "recall") co_return co_await recall(memory, object, recall_limit);
  co_return failed(fmt::format("tool not registered: {}", utf8::excerpt(name)));
}

}  // namespace reef::memory
