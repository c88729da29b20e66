// What fills a window: measured after every step, described on request, pruned before every call,
// and emptied when a context turns out to be too long.

#include "runtime/window.h"

#include <fmt/format.h>

#include "base/log.h"
#include "base/overload.h"
#include "context/context.h"
#include "runtime/compaction.h"
#include "runtime/guest.h"
#include "runtime/turn.h"

namespace reef::runtime {
namespace {

constexpr int kRoomsMax = 2;  // for one turn

// The weights of one kind of content.
struct Weights {
  double weight = 0;
  std::size_t count = 0;
  void add(double more) {
    weight += more;
    ++count;
  }
};

struct Parts {
  Weights summary, user, assistant, thinking, tool_result, images;

  void add(const session::Message& message) {
    std::visit(Overload{
                   [&](const session::SummaryMessage& m) { summary.add(context::weigh(m)); },
                   [&](const session::AssistantMessage& m) { add_blocks(m.content, assistant); },
                   [&](const session::ToolResultMessage& m) { add_blocks(m.content, tool_result); },
                   [&](const session::UserMessage& m) { add_blocks(m.content, user); },
                   [&](const session::CustomMessage& m) { add_blocks(m.content, user); },
                   [&](const session::BashMessage& m) { user.add(context::weigh(m)); },
                   [](const session::OtherMessage&) {},
               },
               message);
  }

 private:
  void add_blocks(const std::vector<session::Block>& blocks, Weights& mine) {
    // Blocks are weighed one by one, because images and thoughts are kinds of their own.
    ++mine.count;
    for (const auto& block : blocks) {
      session::UserMessage one;
      one.content.push_back(block);
      const auto weight = context::weigh(session::Message(one));
      if (std::holds_alternative<session::ThinkingBlock>(block)) {
        thinking.add(weight);
      } else if (std::holds_alternative<session::ImageBlock>(block)) {
        images.add(weight);
      } else {
        mine.weight += weight;
      }
    }
  }
};

// The parts are estimated, the whole is what the provider counted where it did. Scales the parts so
// that they add up to the whole; the largest gets what rounding leaves.
void add_up_to(std::int64_t whole, std::vector<WindowReport::Part>& parts) {
  std::int64_t sum = 0;
  for (const auto& part : parts) sum += part.tokens;
  if (sum <= 0 || whole <= 0) return;
  const auto factor = static_cast<double>(whole) / static_cast<double>(sum);
  auto left = whole;
  auto* largest = &parts.front();
  for (auto& part : parts) {
    if (part.tokens > largest->tokens) largest = &part;
    part.tokens = static_cast<std::int64_t>(static_cast<double>(part.tokens) * factor);
    left -= part.tokens;
  }
  largest->tokens += left;
}

bool is_given(const session::ContextItem& item) {
  return session::for_model(item.message) != nullptr;
}

}  // namespace

context::PruneState Prunings::find(const session::SessionId& id,
                                   const session::EntryId& begin) const {
  const auto found = sessions_.find(id);
  return found != sessions_.end() && found->second.begin == begin ? found->second.state
                                                                  : context::PruneState();
}

void Prunings::keep(const session::SessionId& id, const session::EntryId& begin,
                    const context::PruneState& state) {
  if (state.shortened == 0 && state.cleared == 0) {
    sessions_.erase(id);
    return;
  }
  if (sessions_.size() >= kSessionsMax && !sessions_.contains(id)) sessions_.clear();
  sessions_.insert_or_assign(id, Kept{begin, state});
}

std::vector<session::MessagePtr> Runtime::messages_for(Turn& turn) {
  const auto& context = turn.context();
  auto messages = session::for_model(context);
  const auto window = turn.chain[turn.asked].route.facts.context_window;
  if (context.items.empty()) return messages;
  const auto& begin = context.items.front().id;
  const auto& id = turn.id;
  // A guest asks only once, so its pruning is not remembered.
  const bool guest = turn.run.guest() || !turn.session;
  auto pruned = context::prune(std::move(messages), window, turn.run.setup_->pruning,
                               guest ? context::PruneState() : prunings_.find(id, begin));
  if (!guest) prunings_.keep(id, begin, pruned.state);
  return std::move(pruned.messages);
}

void Runtime::tell_usage(Turn& turn, const session::Usage& usage) {
  const auto& asked = turn.chain[turn.asked];
  const auto window = asked.route.facts.context_window;
  auto now = gauge_.measure(asked.model, turn.context(), turn.standing,
                            {window, reserve_of(turn.run.setup_->compaction, window)});
  now.usage = usage;
  turn.run.events_.push(now);
  turn.end.context = now;
}

void Runtime::use_compactions(Compactions& compactions) {
  compactions_ = &compactions;
  compactions.on_compacted(
      [this](const session::SessionId& id, const Agent& agent, const Compacted& done) {
        const auto* row = sessions_.find(id);
        const Scene scene{agent.name,
                          row ? std::string(row->sender()) : "",
                          row ? std::string(row->key()) : "",
                          id.text(),
                          false,
                          {}};
        if (untold_compactions_.size() >= kUntoldMax) untold_compactions_.clear();
        if (done.automatic) untold_compactions_.insert(id.text());
        const ContextCompacted event{done.tokens_before, done.tokens_after, done.messages,
                                     done.archive};
        if (broadcast_.subscribers() > 0) broadcast_.publish(scene, event, clock_.now());
      });
}

Task<bool> Runtime::make_room(Turn& turn) {
  auto& run = turn.run;
  const auto& id = turn.id;
  const auto* row = sessions_.find(id);
  const auto allowed =
      row ? json::find_bool(row->meta, "compactOnOverflow") : std::optional<bool>();
  const auto& agent = run.host();
  const bool may =
      allowed.value_or(agent.compact_on_overflow.value_or(run.setup_->compaction.on_overflow));
  // The conversation is not compacted to fit a guest's window.
  if (!compactions_ || !may || !turn.session || run.guest() || run.cancelled_) co_return false;
  // Without a limit, a model whose window shrinks with every step would ask for summaries without
  // end.
  if (turn.rooms_made >= kRoomsMax) {
    turn.room_error = fmt::format("it was compacted {} times in this turn already", kRoomsMax);
    co_return false;
  }
  ++turn.rooms_made;
  const auto& asked = turn.chain[turn.asked];
  const auto window = asked.route.facts.context_window;
  const auto before = gauge_.measure(asked.model, turn.context(), turn.standing, {});
  log::info("session {}: about {} tokens are too many for {}; compacting", id.text(), before.tokens,
            asked.model);
  Compactions::Request request{id, agent, run.setup_};
  request.automatic = true;
  request.for_turn = true;
  // The context was too long, so the window is smaller, whatever its size is said to be.
  request.window_max = std::max<std::int64_t>(1, before.tokens);
  if (window > 0) request.window_max = std::min(request.window_max, window);
  const auto tried = co_await errands_.run(compactions_->compact(std::move(request)), run.stop_);
  if (!tried) compactions_->leave(id);
  if (!tried || run.cancelled_) co_return false;
  const auto& done = *tried;
  if (!done) {
    log::warn("session {}: the context is too long and could not be compacted: {}", id.text(),
              done.error().what);
    turn.room_error = done.error().what;
    co_return false;
  }
  turn.end.compacted = true;
  co_return true;
}

Task<Result<WindowReport>> Runtime::window_of(session::SessionId id) {
  REEF_CO_TRY(const auto session, co_await sessions_.open(id));
  const auto* row = sessions_.find(id);
  const auto setup = setup_;
  REEF_CO_TRY(const auto agent, setup->find(row ? row->agent() : std::string_view()));
  WindowReport out;
  out.model = model_for(row, agent);
  REEF_CO_TRY(const auto route, setup->providers.route(out.model));
  const auto offer = offer_for(agent, setup, false);
  const Place place{directory_of(id, {}), !row || is_local(row->sender(), row->key())};
  const auto instructions = co_await hooks_.instructions(agent, place);

  const auto& context = session->context();
  const auto standing = offer->prompt_weight + context::weigh(instructions) +
                        context::weigh(host_framing(context)) + offer->tools_weight;
  const auto window = route.facts.context_window;
  out.usage =
      gauge_.measure(out.model, context, standing, {window, reserve_of(setup->compaction, window)});
  out.error = gauge_.error(out.model);

  Parts parts;
  for (const auto& item : context.items)
    if (is_given(item)) parts.add(*item.message);
  const auto add = [&](const char* kind, double weight, std::size_t count) {
    if (count > 0) out.parts.push_back({kind, gauge_.estimate(out.model, weight), count});
  };
  const auto framing = context::weigh(host_framing(context));
  add("system", offer->prompt_weight + framing, offer->prompt.empty() && framing <= 0 ? 0 : 1);
  add("tools", offer->tools_weight, offer->toolbox.tools().size());
  add("instructions", context::weigh(instructions), instructions.empty() ? 0 : 1);
  for (const auto& [kind, part] : {std::pair<const char*, const Weights&>{"summary", parts.summary},
                                   {"user", parts.user},
                                   {"assistant", parts.assistant},
                                   {"thinking", parts.thinking},
                                   {"tool_result", parts.tool_result},
                                   {"images", parts.images}})
    add(kind, part.weight, part.count);
  add_up_to(out.usage.tokens, out.parts);
  if (!context.items.empty()) {
    const auto state = prunings_.find(id, context.items.front().id);
    out.prunable = context::prune(session::for_model(context), window, setup->pruning, state).saved;
  }
  co_return out;
}

}  // namespace reef::runtime
