#include "hooks/title/title_hook.h"

#include <fmt/format.h>

#include "hooks/description.h"
#include "runtime/title.h"

namespace reef::hooks {
namespace {

using runtime::ToolAnswer;

const Description kSetTitle{
    "set_title",
    "Name this conversation, so that it is found again in a list.",
    {{.name = "title",
      .description = "Three to six words: what it is about, not what you do.",
      .required = true}}};

}  // namespace

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
  // It changes only the name of the session it is called in.
  return runtime::Intent{runtime::Intent::Effect::reads, tool, tool};
}

Task<ToolAnswer> TitleHook::call(std::string, json::object arguments, runtime::Caller caller) {
  if (const auto good = check(kSetTitle, arguments); !good)
    co_return ToolAnswer{good.error().what, true};
  const auto title = runtime::title_from(text_of(arguments, "title"));
  if (!title) co_return ToolAnswer{title.error().what, true};
  const auto* row = sessions_.find(caller.session);
  if (row && row->name() == *title) co_return ToolAnswer{fmt::format("title: {}", *title)};
  const auto done = co_await sessions_.patch(caller.session, json::object{{"name", *title}});
  if (!done) co_return ToolAnswer{done.error().what, true};
  co_return ToolAnswer{fmt::format("title: {}", *title)};
}

}  // namespace reef::hooks
