#include "bus/done_hook.h"

#include "base/log.h"
#include "base/overload.h"
#include "base/utf8.h"

namespace reef::bus {
namespace {

constexpr std::string_view kCut = "…[truncated]";

}  // namespace

void DoneHook::add(const runtime::Scene& scene, const std::string& text) {
  if (bus_.list().empty()) return;
  auto found = said_.find(scene.key);
  if (found == said_.end()) {
    if (!bus_.is_awaited("agent:" + scene.agent + ":done")) return;
    found = said_.emplace(scene.key, std::string()).first;
  }
  auto& said = found->second;
  const auto max = bus_.limits().payload_bytes_max;
  // One byte more is enough to see that it is too long.
  if (said.size() <= max) said.append(text, 0, max + 1 - said.size());
}

void DoneHook::on_event(const runtime::Scene& scene, const runtime::Event& event) {
  // A subscriber would keep what it is told, and nothing of an ephemeral turn may be kept.
  if (scene.ephemeral) return;
  std::visit(Overload{
                 [&](const runtime::Chunk& piece) { add(scene, piece.text); },
                 // Words between tool calls are not the answer yet.
                 [&](const runtime::ToolStart&) { said_.erase(scene.key); },
                 [&](const runtime::TextEnd& end) {
                   if (end.aside) said_.erase(scene.key);
                 },
                 [&](const runtime::End& end) {
                   auto node = said_.extract(scene.key);
                   auto text = node.empty() ? std::string() : std::move(node.mapped());
                   // The turn was a program's own business, or there is nothing to say.
                   if (end.hidden || end.silent) return;
                   const bool failed = !end.error.empty();
                   auto source = "agent:" + scene.agent + (failed ? ":failed" : ":done");
                   if (!bus_.is_awaited(source)) return;
                   if (failed) text = end.error;
                   const auto max = bus_.limits().payload_bytes_max;
                   if (text.size() > max) {
                     text = utf8::prefix(text, max > kCut.size() ? max - kCut.size() : 0);
                     text += kCut;
                   }
                   if (text.size() > max) text.clear();
                   const auto sent =
                       bus_.publish(Event{source, std::move(text), scene.lineage.events + 1});
                   if (!sent) log::warn("event {}: {}", source, sent.error().what);
                 },
                 [](const auto&) {},
             },
             event);
}

}  // namespace reef::bus
