#include "hooks/delegate/child.h"

#include <fmt/format.h>

#include "base/notify.h"
#include "base/overload.h"
#include "base/utf8.h"

namespace reef::hooks {
namespace {

constexpr std::size_t kToldBytesMax = 200;

// One line about an event for readers of the parent's stream; empty when there is nothing to tell.
std::string told(const runtime::Event& event, const std::string& said) {
  return std::visit(
      Overload{
          [](const runtime::Start&) -> std::string { return "started"; },
          [](const runtime::ToolStart& e) {
            std::string names;
            for (const auto& call : e.calls) names += (names.empty() ? "" : ", ") + call.name;
            return "calls " + names;
          },
          [](const runtime::ToolProgress& e) { return utf8::excerpt(e.text, kToldBytesMax); },
          [&](const runtime::TextEnd&) { return utf8::excerpt(said, kToldBytesMax); },
          [](const runtime::End& e) { return e.error.empty() ? "done" : "failed: " + e.error; },
          [](const auto&) { return std::string(); },
      },
      event);
}

}  // namespace

Task<Result<std::vector<runtime::UserAnswer>>> pass_on(std::shared_ptr<Link> link,
                                                       std::string agent, runtime::Ask ask) {
  if (!link->ask)
    co_return Error(Errc::unsupported, "this work runs in the background: nobody can be asked");
  if (!link->open) co_return Error(Errc::cancelled, "whoever delegated this no longer waits");
  if (ask.kind == runtime::Ask::Kind::question)
    for (auto& question : ask.questions) question.text = agent + " asks: " + question.text;
  ask.nested = true;
  co_return co_await link->ask(std::move(ask));
}

Task<void> follow(std::shared_ptr<Child> child, std::function<void(std::string)> tell) {
  co_await yield_to_loop();
  // This stays when the message could not be kept, or was cancelled before its turn came.
  child->error = "interrupted";
  runtime::EventLog::Place place;
  std::string said;
  for (;;) {
    auto event = co_await child->run->events().next(place);
    if (!event) {
      child->error = event.error().what;
      child->cancelled = event.error().code == Errc::cancelled;
      co_return;
    }
    if (!*event) co_return;
    if (std::holds_alternative<runtime::TextStart>(**event)) said.clear();
    if (const auto* chunk = std::get_if<runtime::Chunk>(&**event)) said += chunk->text;
    if (tell)
      if (const auto line = told(**event, said); !line.empty())
        tell(fmt::format("[{} {}] {}\n", child->agent, child->id, line));
    // Words before a tool call are not the answer yet.
    if (std::holds_alternative<runtime::ToolStart>(**event)) said.clear();
    if (auto* end = std::get_if<runtime::End>(&**event)) {
      child->cancelled = !end->error.empty() && end->code == Errc::cancelled;
      child->error = std::move(end->error);
      child->result = std::move(said);
    }
  }
}

json::object outcome_of(const Child& child) {
  json::object out{{"agent", child.agent}, {"session", child.session}};
  if (child.error.empty()) {
    out["result"] = child.result;
  } else {
    out["error"] = child.error;
  }
  return out;
}

}  // namespace reef::hooks
