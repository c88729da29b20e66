#include "runtime/guest.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/utf8.h"
#include "runtime/turn.h"

namespace reef::runtime {
namespace {

using session::AssistantMessage;
using session::StopReason;

bool is_guests(const session::ContextItem& item) {
  const auto* reply = std::get_if<AssistantMessage>(&*item.message);
  return reply && !reply->agent.empty();
}

void add_part(std::string& prompt, const std::string& part) {
  if (part.empty()) return;
  if (!prompt.empty()) prompt += "\n\n";
  prompt += part;
}

}  // namespace

Result<std::optional<Agent>> find_guest(const Setup& setup, const std::string& name,
                                        const Agent& host) {
  auto guest = setup.find(name);
  if (!guest)
    return Error(Errc::not_found,
                 fmt::format("guest agent '{}' not registered", utf8::excerpt(name)));
  if (guest->name == host.name) return std::optional<Agent>();
  return std::optional<Agent>(*std::move(guest));
}

std::string guest_framing(std::string_view host) {
  return fmt::format(
      "<conversation>\n"
      "You are a guest in this conversation; it is led by the agent '{}', whose replies carry no "
      "tag. What other guests said stands in <from agent=\"NAME\"> tags. Answer the user's latest "
      "message as yourself, in text: you have no tools here. Do not write such tags yourself.\n"
      "</conversation>",
      host);
}

std::string host_framing(const session::Context& context) {
  if (std::none_of(context.items.begin(), context.items.end(), is_guests)) return {};
  return "<conversation>\n"
         "Replies in <from agent=\"NAME\"> tags are of guests: other agents the user asked to "
         "speak here. Go on as yourself, and do not write such tags yourself.\n"
         "</conversation>";
}

bool keep_guest_words(AssistantMessage& reply, const std::string& guest, End& end) {
  // An interrupted answer of a guest is not kept.
  if (reply.stop_reason == StopReason::aborted) return false;
  reply.agent = guest;
  const auto calls = std::erase_if(reply.content, [](const session::Block& block) {
    return std::holds_alternative<session::ToolCallBlock>(block);
  });
  if (calls == 0) return true;
  if (reply.stop_reason == StopReason::tool_use) reply.stop_reason = StopReason::stop;
  if (!session::text_of(reply.content).empty()) return true;
  end.error = fmt::format("guest '{}' wanted to call tools, which guests do not have", guest);
  end.code = Errc::denied;
  return false;
}

Task<bool> Runtime::make_ready(std::shared_ptr<Run> run) const {
  co_await hooks_.ready(run->agent_);
  co_return true;
}

Task<std::string> Runtime::instructions_for(std::shared_ptr<Run> run, Place place) const {
  co_return co_await hooks_.instructions(run->agent_, place);
}

Task<void> Runtime::prepare(Turn& turn) {
  const auto run_kept = turn.run.shared_from_this();
  const auto& run = *run_kept;
  const auto& agent = run.agent_;
  Place place{directory_of(turn.id, run.message_.cwd),
              is_local(run.message_.sender, turn.key.text())};
  if (!run.guest()) co_await errands_.run(make_ready(run_kept), run.stop_);
  turn.offer = offer_for(agent, run.setup_, run.guest());
  turn.toolbox = {turn.offer, &turn.offer->toolbox};
  if (run.message_.ephemeral) {
    auto fewer = std::make_shared<Toolbox>(*turn.toolbox);
    fewer->leave_out_what_keeps();
    turn.toolbox = std::move(fewer);
  }
  if (!run.guest() && !run.message_.client_tools.empty())
    turn.toolbox =
        with_client_tools(turn.toolbox, agent, run.message_.client_tools, run_kept, forwards_);
  auto& request = *turn.request;
  request.system = turn.offer->prompt;
  const auto framed_from = request.system.size();
  auto instructions =
      co_await errands_.run(instructions_for(run_kept, std::move(place)), run.stop_);
  add_part(request.system, instructions.value_or(std::string()));
  add_part(request.system,
           run.guest() ? guest_framing(run.host().name) : host_framing(turn.context()));
  add_part(request.system, run.message_.context);
  request.tools = turn.toolbox->tools();
  request.thinking = agent.thinking;
  if (const auto* row = sessions_.find(turn.id); row && !run.guest())
    request.thinking =
        model::thinking_level_from(row->text("thinkingLevel")).value_or(agent.thinking);
  request.max_tokens = agent.max_tokens;
  request.extra = agent.parameters;
  // The prompt is the same in all turns and was weighed once.
  turn.standing = turn.offer->prompt_weight + turn.offer->tools_weight +
                  context::weigh(std::string_view(request.system).substr(framed_from));
}

std::string Runtime::directory_of(const session::SessionId& id, const std::string& wanted) const {
  const auto* row = sessions_.find(id);
  if (!wanted.empty() || !row) return wanted;
  return std::string(row->text("workingDirectory"));
}

std::shared_ptr<const Runtime::Offer> Runtime::offer_for(const Agent& agent,
                                                         const std::shared_ptr<const Setup>& setup,
                                                         bool guest) {
  // A guest has no tools, so what hooks say about tools is left out.
  if (guest)
    return std::make_shared<Offer>(Offer{{}, agent.prompt, context::weigh(agent.prompt), 0});
  const auto make = [&] {
    auto toolbox = hooks_.toolbox(agent);
    const auto weight = weigh(toolbox.tools());
    auto prompt = hooks_.prompt(agent);
    const auto prompt_weight = context::weigh(prompt);
    return std::make_shared<const Offer>(
        Offer{std::move(toolbox), std::move(prompt), prompt_weight, weight});
  };
  // An agent that differs from the configured one of its name gets an offer of its own.
  const auto known = setup->agents.find(agent.name);
  if (setup != setup_ || known == setup->agents.end() || known->second != agent) return make();
  auto& offer = offers_[agent.name];
  if (!offer) offer = make();
  return offer;
}

void Runtime::observe(const session::Key& key, Run& run, const std::string& session_id) {
  Scene scene{run.agent_.name, run.message_.sender,    key.text(),          session_id,
              run.guest(),     run.message_.ephemeral, run.message_.lineage};
  // CrabTalk's observers know the turn by this id.
  if (scene.ephemeral) scene.sender = std::to_string(run.message_.correlation_id);
  const bool hidden = run.message_.hidden;
  if (!run.message_.ephemeral) run.session_id_ = session_id;
  run.events_.observe([this, hidden, scene = std::move(scene)](const Event& event) {
    hooks_.on_event(scene, event);
    // The tool calls of a program's turn are not published.
    const bool work = std::holds_alternative<ToolStart>(event) ||
                      std::holds_alternative<ToolResult>(event) ||
                      std::holds_alternative<ToolsComplete>(event);
    if (hidden && work) return;
    if (broadcast_.is_heard()) broadcast_.publish(scene, event, clock_.now());
  });
}

}  // namespace reef::runtime
