// One step: asks the model, makes its reply durable, runs its tool calls side by side and makes
// their results durable as they come.

#include <algorithm>

#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>
#include <fmt/format.h>

#include "base/log.h"
#include "base/notify.h"
#include "runtime/guest.h"
#include "runtime/segments.h"
#include "runtime/spent.h"
#include "runtime/turn.h"

namespace reef::runtime {
namespace asio = boost::asio;
namespace {

// Calls that one step makes at all, and those it makes at once while the others wait.
constexpr std::size_t kCallsMax = 128;
constexpr std::size_t kCallsAtOnce = 16;

// Listens to one call of a model as long as somebody wants to hear; the call may go on after that.
struct Ear {
  std::shared_ptr<Run> run;  // the segments refer to its events and names
  std::shared_ptr<Segments> segments;
  std::shared_ptr<StopSign> stop;
  bool deaf = false;
};

// Runs as an errand, so it owns all it uses.
Task<model::Outcome> stream(std::shared_ptr<model::Provider> provider,
                            std::shared_ptr<const model::Request> request,
                            std::shared_ptr<Ear> ear) {
  const model::DeltaSink sink = [ear](model::Delta delta) {
    if (ear->deaf) return;
    ear->segments->take(std::move(delta));
    if (ear->segments->overflown()) ear->stop->nudge();
  };
  model::Failure failure;
  try {
    co_return co_await provider->stream(*request, sink);
  } catch (const boost::system::system_error& error) {
    failure.kind = error.code() == asio::error::operation_aborted ? model::Failure::Kind::cancelled
                                                                  : model::Failure::Kind::server;
    failure.message = error.what();
  } catch (const std::exception& error) {
    failure.kind = model::Failure::Kind::server;
    failure.message = error.what();
  }
  co_return failure;
}

Task<ToolAnswer> call_offered(std::shared_ptr<const Toolbox> toolbox, session::ToolCallBlock call,
                              Caller caller) {
  co_return co_await toolbox->call(std::move(call), std::move(caller));
}

// Demands a tool call in the first step only: else the model would never come to its answer.
model::ToolChoice choice_for(int step, const model::ToolChoice& wanted,
                             const model::ToolList& tools) {
  using Mode = model::ToolChoice::Mode;
  const bool lasts = wanted.mode == Mode::none || step == 0;
  return lasts && !tools.empty() ? wanted : model::ToolChoice{};
}

// Drops the calls beyond `most`, so that every call that is kept gets its result. Returns how many.
std::size_t cut_calls(std::vector<session::Block>& content, std::size_t most) {
  std::size_t calls = 0;
  return std::erase_if(content, [&](const session::Block& block) {
    return std::holds_alternative<session::ToolCallBlock>(block) && ++calls > most;
  });
}

session::ToolResultMessage result_message(const session::ToolCallBlock& call, ToolAnswer answer,
                                          TimePoint now) {
  session::ToolResultMessage result;
  result.tool_call_id = call.id;
  result.tool_name = call.name;
  result.content.push_back(session::TextBlock{std::move(answer.text)});
  for (auto& image : answer.images) result.content.push_back(std::move(image));
  result.is_error = answer.is_error;
  result.details = std::move(answer.details);
  result.time = now;
  return result;
}

}  // namespace

Task<bool> Runtime::save(Turn& turn, const session::Message& message, std::string_view what) {
  if (!turn.session) {
    auto& items = turn.scratch.items;
    items.push_back({session::EntryId{fmt::format("e{}", items.size())},
                     std::make_shared<const session::Message>(message)});
    co_return true;
  }
  std::vector<session::Draft> drafts;
  drafts.push_back(session::draft_message(message));
  co_return co_await save_all(turn, std::move(drafts), what);
}

Task<bool> Runtime::save_all(Turn& turn, std::vector<session::Draft> drafts,
                             std::string_view what) {
  if (!turn.session) {
    for (auto& draft : drafts) {
      session::Entry entry;
      entry.type = std::move(draft.type);
      entry.id = session::EntryId{fmt::format("e{}", turn.scratch.items.size())};
      entry.body = std::move(draft.fields);
      static_cast<void>(session::extend_context(turn.scratch, entry));
    }
    co_return true;
  }
  const auto saved = co_await turn.session->append(std::move(drafts));
  if (saved) co_return true;
  log::error("session {}: the {} could not be saved: {}", turn.id.text(), what, saved.error().what);
  turn.end.error = fmt::format("the {} could not be saved: {}", what, saved.error().what);
  turn.end.code = saved.error().code;
  co_return false;
}

Task<model::Outcome> Runtime::ask_chain(Turn& turn, std::shared_ptr<Segments> segments) {
  auto& run = turn.run;
  auto& request = *turn.request;
  const auto overflown = [segments] { return segments->overflown(); };
  model::Outcome outcome = model::Failure{model::Failure::Kind::cancelled, "cancelled", 0, {}};
  // The model that has answered once goes on answering in this turn.
  for (auto i = turn.asked; i < turn.chain.size() && !run.cancelled_; ++i) {
    const auto& candidate = turn.chain[turn.asked = i];
    request.model = candidate.route.model;
    request.messages = messages_for(turn);
    const auto ear = std::make_shared<Ear>(Ear{run.shared_from_this(), segments, run.stop_});
    auto asked = co_await errands_.run(stream(candidate.route.provider, turn.request, ear),
                                       run.stop_, overflown);
    ear->deaf = true;
    outcome = asked ? *std::move(asked)
                    : model::Failure{model::Failure::Kind::cancelled, "cancelled", 0, {}};
    const auto* failure = std::get_if<model::Failure>(&outcome);
    if (!failure || segments->started() || !model::calls_for_fallback(*failure)) break;
    if (i + 1 < turn.chain.size())
      log::warn("agent {}: model '{}' failed ({}); asking '{}'", run.agent_.name, candidate.model,
                model::name_of(failure->kind), turn.chain[i + 1].model);
  }
  co_return outcome;
}

Task<Runtime::Step> Runtime::ask_model(Turn& turn) {
  auto& run = turn.run;
  const auto& agent = run.agent_;
  auto& request = *turn.request;
  request.tool_choice = choice_for(turn.steps, run.message_.tool_choice, request.tools);

  // Words of a program's turn are not shown before they are known to be an answer: words before a
  // tool call never are. Where nobody sits and waits, words are shown once it is known that the
  // turn does not end in silence. Where sending is denied, nothing is shown.
  const auto* row = sessions_.find(turn.id);
  const bool muted = row && row->text("sendPolicy") == "deny";
  const auto reasoning = row ? row->text("reasoningLevel") : std::string_view();
  const bool program = turn.end.hidden;
  const bool live = !row || row->is_live();
  const bool thoughts = live ? reasoning != "off" : reasoning == "on" || reasoning == "stream";
  const auto segments_kept = std::make_shared<Segments>(
      run.events_, agent.name,
      Segments::Shown{live && !program && !muted, thoughts && !program && !muted});
  auto& segments = *segments_kept;
  auto outcome = co_await ask_chain(turn, segments_kept);
  if (const auto* failure = std::get_if<model::Failure>(&outcome);
      failure && failure->kind == model::Failure::Kind::context_overflow && !segments.started())
    if (co_await make_room(turn) || run.cancelled_)
      outcome = co_await ask_chain(turn, segments_kept);
  const auto& asked = turn.chain[turn.asked];
  turn.end.model = asked.model;
  segments.close();

  // The provider may have finished before it noticed that the reply was too long.
  if (segments.overflown()) outcome = model::Failure{};
  Step step;
  session::AssistantMessage reply;
  const bool whole = std::holds_alternative<model::Reply>(outcome);
  if (whole) {
    reply = std::move(std::get<model::Reply>(outcome).message);
    // A request with fewer tools than usual would teach the gauge a wrong weight.
    if (asked.route.provider->is_language_model() && run.message_.only_tools.empty())
      gauge_.learn(asked.model, turn.standing, request.messages, reply.usage);
  } else {
    auto& failure = std::get<model::Failure>(outcome);
    if (segments.overflown()) {
      failure.kind = model::Failure::Kind::server;
      failure.message = fmt::format("the reply grew beyond {} MiB", kReplyBytesMax >> 20);
    }
    reply.content = segments.take_content();
    reply.stop_reason = failure.kind == model::Failure::Kind::cancelled
                            ? session::StopReason::aborted
                            : session::StopReason::error;
    reply.error_message = model::describe(failure, asked.model);
    if (failure.kind == model::Failure::Kind::context_overflow && !turn.room_error.empty())
      reply.error_message += fmt::format("; it could not be compacted: {}", turn.room_error);
    turn.end.error = reply.error_message;
    turn.end.code =
        failure.kind == model::Failure::Kind::cancelled ? Errc::cancelled : Errc::provider;
  }
  const bool calls = std::any_of(reply.content.begin(), reply.content.end(), [](const auto& block) {
    return std::holds_alternative<session::ToolCallBlock>(block);
  });
  turn.silent = segments.silent() || muted;
  reply.hidden = segments.silent() || (program && calls);
  if (reply.hidden && turn.replies > 0) reply.hides = turn.words;
  if (!reply.hidden) ++turn.replies;
  if (auto words = segments.take_held(); !words.empty() && !muted) {
    if (!calls && !turn.silent) {
      tell_held(turn);
      run.events_.push(TextStart{agent.name});
      run.events_.push(Chunk{std::move(words)});
      run.events_.push(TextEnd{agent.name});
    } else if (!program) {
      turn.held.push_back(std::move(words));
    }
  }
  reply.api = asked.route.provider->api();
  reply.provider = asked.route.provider_name;
  if (reply.model.empty()) reply.model = asked.route.model;
  reply.time = clock_.now();
  add(turn.end.usage, reply.usage);

  if (run.guest() && !keep_guest_words(reply, agent.name, turn.end)) co_return step;
  step.left_out = cut_calls(reply.content, kCallsMax);
  step.said_something = !reply.content.empty() || reply.stop_reason != session::StopReason::stop;
  if (step.said_something && !co_await save(turn, reply, "reply")) co_return step;
  if (whole) tell_usage(turn, reply.usage);
  for (auto& block : reply.content)
    if (auto* wanted = std::get_if<session::ToolCallBlock>(&block))
      step.calls.push_back(std::move(*wanted));
  co_return step;
}

// The tool calls of one step.
struct Runtime::Round {
  const std::vector<session::ToolCallBlock> calls;
  const std::size_t left_out;
  std::vector<bool> answered;
  std::size_t running = 0;
  Notify changed;
  TaskGroup keeping;
};

Task<void> Runtime::call_tools(Turn& turn, Step step) {
  auto& events = turn.run.events_;
  const auto count = step.calls.size();
  Round round{std::move(step.calls),      step.left_out, std::vector<bool>(count), 0, Notify(loop_),
              TaskGroup(loop_, "results")};
  const auto& calls = round.calls;
  ToolStart start;
  for (const auto& call : calls)
    start.calls.push_back({call.id, call.name, json::write(call.arguments)});
  events.push(std::move(start));

  TaskGroup tasks(loop_, "tools");
  turn.run.tools_ = &tasks;
  if (!turn.run.cancelled_)
    for (std::size_t i = 0; i < count; ++i)
      turn.run.calls_[calls[i].id] = tasks.spawn(call_tool(turn, round, i));
  co_await tasks.join();
  turn.run.tools_ = nullptr;
  turn.run.calls_.clear();
  co_await round.keeping.join();

  // What was cancelled has no result yet, and every call must have one; but for those that wait
  // for a person when the daemon stops.
  const auto waits = [&](const std::string& call) {
    const auto& open = turn.run.open_;
    return turn.run.parked_ && std::any_of(open.begin(), open.end(),
                                           [&](const auto& one) { return one.second == call; });
  };
  for (std::size_t i = 0; i < count; ++i) {
    if (round.answered[i] || waits(calls[i].id)) continue;
    events.push(ToolResult{calls[i].id, "interrupted", {}, true});
    auto result = result_message(calls[i], {"interrupted", true}, clock_.now());
    result.hidden = turn.end.hidden;
    co_await save(turn, result, "tool's result");
  }
  co_await close_open(turn);
  events.push(ToolsComplete{});
}

Task<void> Runtime::call_tool(Turn& turn, Round& round, std::size_t number) {
  const auto& call = round.calls[number];
  // Spawned in the middle of a step: let the others start first.
  co_await yield_to_loop();
  while (round.running >= kCallsAtOnce) co_await round.changed.wait();
  struct Running {
    Round& all;
    explicit Running(Round& in) : all(in) { ++all.running; }
    ~Running() {
      --all.running;
      all.changed.notify_all();
    }
  } const running(round);
  const auto began = std::chrono::steady_clock::now();
  auto caller = caller_for(turn, call);
  permissions_.look_up(caller);
  auto answer = co_await permissions_.refusal(*turn.toolbox, call, caller);
  if (!answer)
    answer =
        co_await errands_.run(call_offered(turn.toolbox, call, std::move(caller)), turn.run.stop_);
  if (!answer) co_return;
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - began);
  if (round.left_out > 0 && number + 1 == round.calls.size())
    answer->text += fmt::format(
        "\n\n({} more calls of this step were left out: a step makes {} at "
        "most.)",
        round.left_out, kCallsMax);
  round.answered[number] = true;
  turn.run.events_.push(ToolResult{call.id, answer->text, took, answer->is_error});
  // Needs a task of its own: a kill that came just now would end this one where it next waits.
  auto plan = std::move(answer->plan);
  auto result = result_message(call, *std::move(answer), clock_.now());
  result.hidden = turn.end.hidden;
  round.keeping.spawn(keep_result(turn, std::move(result), std::move(plan)));
}

Caller Runtime::caller_for(Turn& turn, const session::ToolCallBlock& call) {
  const auto run = turn.run.shared_from_this();
  Caller caller{run->agent_, run->message_.sender, turn.id, run->message_.cwd, call.id};
  // A tool may keep these longer than its call lasts.
  caller.progress = [run, id = call.id](std::string text) {
    if (!text.empty() && !run->events_.closed() && !run->cancelled_)
      run->events_.push(ToolProgress{id, std::move(text)});
  };
  caller.key = turn.key.text();
  caller.lineage = run->message_.lineage;
  if (run->message_.ask) {
    caller.ask = run->message_.ask;
    return caller;
  }
  Questions::Origin origin{turn.key, run->agent_.name, run->message_.sender, turn.id, call.id};
  const std::weak_ptr<session::Session> session = turn.session;
  caller.ask = [this, run, session, origin = std::move(origin)](Ask ask) {
    return ask_user(run, session, origin, std::move(ask));
  };
  return caller;
}

}  // namespace reef::runtime
