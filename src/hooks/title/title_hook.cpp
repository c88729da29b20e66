#include "hooks/title/title_hook.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/utf8.h"
#include "hooks/description.h"

namespace reef::hooks {
namespace {

using runtime::ToolAnswer;

constexpr std::ptrdiff_t kWordsMin = 3;
constexpr std::ptrdiff_t kWordsMax = 6;
constexpr std::size_t kBytesMax = 120;
// Of a title without spaces: enough to say something.
constexpr std::ptrdiff_t kWideCharsMin = 4;

const Description kSetTitle{
    "set_title",
    "Name this conversation, so that it is found again in a list.",
    {{.name = "title",
      .description = "Three to six words: what it is about, not what you do.",
      .required = true}}};

// Characters of more than two bytes: those of most scripts without spaces are.
std::ptrdiff_t wide_chars(std::string_view text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return static_cast<unsigned char>(c) >= 0xe0; });
}

}  // namespace

Result<std::string> title_from(std::string_view text) {
  auto title = utf8::single_line(utf8::printable(text));
  // Models like to put it in quotes.
  if (title.size() > 1 && (title.front() == '"' || title.front() == '\'') &&
      title.front() == title.back())
    title = title.substr(1, title.size() - 2);
  if (title.size() > kBytesMax)
    return Error(Errc::invalid, fmt::format("a title has at most {} bytes", kBytesMax));
  const auto words = title.empty() ? 0 : std::count(title.begin(), title.end(), ' ') + 1;
  const bool wide = wide_chars(title) >= kWideCharsMin;
  if ((words < kWordsMin && !wide) || words > kWordsMax)
    return Error(Errc::invalid, fmt::format("a title has three to six words, this one {}", words));
  return title;
}

std::vector<model::Tool> TitleHook::tools(const runtime::Agent&) const {
  return {tool_from(kSetTitle)};
}

std::string TitleHook::prompt(const runtime::Agent&) const {
  return "<title>\n"
         "When it is clear what a conversation is about, call set_title once; again only when its "
         "subject has changed. Do not speak of it.\n"
         "</title>";
}

runtime::Intent TitleHook::intent(const std::string& tool, const json::object&,
                                  const runtime::Caller&) const {
  // Nothing but the name of the session it is called in.
  return runtime::Intent{runtime::Intent::Effect::reads, tool, tool};
}

Task<ToolAnswer> TitleHook::call(std::string, json::object arguments, runtime::Caller caller) {
  if (const auto good = check(kSetTitle, arguments); !good)
    co_return ToolAnswer{good.error().what, true};
  const auto title = title_from(text_of(arguments, "title"));
  if (!title) co_return ToolAnswer{title.error().what, true};
  const auto* row = sessions_.find(caller.session);
  if (row && row->name() == *title) co_return ToolAnswer{fmt::format("title: {}", *title)};
  const auto done = co_await sessions_.patch(caller.session, json::object{{"name", *title}});
  if (!done) co_return ToolAnswer{done.error().what, true};
  co_return ToolAnswer{fmt::format("title: {}", *title)};
}

}  // namespace reef::hooks
