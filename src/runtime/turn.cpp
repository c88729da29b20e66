// One turn: user's words durable, model called, events pushed, reply durable, `end`.

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <fmt/format.h>

#include "base/log.h"
#include "base/notify.h"
#include "runtime/reset.h"
#include "runtime/runtime.h"

namespace reef::runtime {
namespace asio = boost::asio;
namespace {

// A reply must fit into one answer frame, with room for what is around it.
constexpr std::size_t kReplyBytesMax = 15U << 20;

// Turns deltas into events with their segments opened and closed, and keeps what was said: a reply
// that is cut short is still recorded.
class Segments {
 public:
  Segments(EventLog& events, const std::string& agent) : events_(events), agent_(agent) {}

  void take(model::Delta delta) {
    started_ = true;
    if (delta.kind == model::Delta::Kind::tool_call) {
      close();
      return;
    }
    said_bytes_ += delta.text.size();
    if (said_bytes_ > kReplyBytesMax) return;
    if (open_ != delta.kind) {
      close();
      if (delta.kind == model::Delta::Kind::text) {
        events_.push(TextStart{agent_});
        content_.push_back(session::TextBlock{});
      } else {
        events_.push(ThinkingStart{agent_});
        content_.push_back(session::ThinkingBlock{});
      }
      open_ = delta.kind;
    }
    if (delta.kind == model::Delta::Kind::text) {
      std::get<session::TextBlock>(content_.back()).text += delta.text;
      events_.push(Chunk{std::move(delta.text)});
    } else {
      std::get<session::ThinkingBlock>(content_.back()).thinking += delta.text;
      events_.push(Thinking{std::move(delta.text)});
    }
  }

  void close() {
    if (open_ == model::Delta::Kind::text) events_.push(TextEnd{agent_});
    if (open_ == model::Delta::Kind::thinking) events_.push(ThinkingEnd{agent_});
    open_.reset();
  }

  bool started() const { return started_; }
  bool overflown() const { return said_bytes_ > kReplyBytesMax; }
  std::vector<session::Block> take_content() { return std::move(content_); }

 private:
  EventLog& events_;
  const std::string& agent_;
  std::optional<model::Delta::Kind> open_;
  std::vector<session::Block> content_;
  std::size_t said_bytes_ = 0;
  bool started_ = false;
};

// Asio 1.81 ends the program when a spawned coroutine is cancelled before it was ever suspended.
Task<model::Outcome> stream_soon(model::Provider& provider, const model::Request& request,
                                 const model::DeltaSink& sink) {
  co_await yield_to_loop();
  co_return co_await provider.stream(request, sink);
}

// Runs the provider as a task of its own, so that a kill cancels it and not the turn, which still
// has the transcript to keep in order.
Task<model::Outcome> call(Executor loop, model::Provider& provider, const model::Request& request,
                          const model::DeltaSink& sink, asio::cancellation_slot slot) {
  model::Failure failure;
  try {
    co_return co_await asio::co_spawn(loop, stream_soon(provider, request, sink),
                                      asio::bind_cancellation_slot(slot, asio::use_awaitable));
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

struct Candidate {
  std::string model;  // as it is configured
  model::Providers::Route route;
};

// The models to ask, in turn. A fallback nobody serves is left out.
Result<std::vector<Candidate>> candidates(const model::Providers& providers, const Agent& agent,
                                          const std::string& model,
                                          const std::vector<std::string>& fallback) {
  std::vector<Candidate> out;
  auto first = providers.route(model);
  if (first) out.push_back(Candidate{model, *first});
  for (const auto& name : fallback) {
    auto route = providers.route(name);
    if (route) {
      out.push_back(Candidate{name, *std::move(route)});
    } else {
      log::warn("agent {}: fallback: {}", agent.name, route.error().what);
    }
  }
  if (out.empty()) return std::move(first).error();
  return out;
}

}  // namespace

Task<Result<std::shared_ptr<session::Session>>> Runtime::record_user(session::Key key,
                                                                     const Run& run,
                                                                     std::string words,
                                                                     bool fresh) {
  session::UserMessage message;
  message.content.push_back(session::TextBlock{std::move(words)});
  message.time = clock_.now();
  auto draft = session::draft_message(message);

  const auto current = sessions_.current(key);
  if (current && !fresh) {
    const auto* row = sessions_.find(*current);
    const auto rule = run.setup_->expiry_for(run.agent_, key.text());
    if (row && is_expired(rule, row->last_used(), message.time)) {
      log::info("conversation {}: session {} has expired", key.text(), current->text());
      fresh = true;
    }
  }
  if (current && !fresh) {
    auto session = co_await sessions_.open(*current);
    if (session) {
      const auto saved = co_await (*session)->append(draft);
      if (saved) co_return session;
      session = saved.error();
    }
    // A folder somebody removed must not silence its conversation; any other failure is one.
    if (session.error().code != Errc::not_found) co_return session;
    sessions_.drop_missing(*current);
  }
  session::Sessions::New request{key, run.agent_.name, run.message_.sender, run.message_.cwd, {}};
  request.drafts.push_back(std::move(draft));
  co_return co_await sessions_.create(std::move(request));
}

// `/new` alone: a new session, said in words of our own; no model is asked.
Task<void> Runtime::start_over(session::Key key, Run& run) {
  auto& events = run.events_;
  session::Sessions::New request{key, run.agent_.name, run.message_.sender, run.message_.cwd, {}};
  auto made = co_await sessions_.create(std::move(request));
  if (!made) {
    events.fail(std::move(made).error().with("the new session could not be saved"));
    co_return;
  }
  const auto& id = (*made)->id().text();
  events.push(Start{run.agent_.name});
  events.push(TextStart{run.agent_.name});
  events.push(Chunk{fmt::format("New session {}. The old one is kept.", id)});
  events.push(TextEnd{run.agent_.name});
  End end;
  end.agent = run.agent_.name;
  end.session_id = id;
  events.push(std::move(end));
  events.close();
}

Task<void> Runtime::take_turn(session::Key key, Run& run) {
  auto& events = run.events_;
  const auto& agent = run.agent_;
  if (run.cancelled_) {
    events.fail(Error(Errc::cancelled, "the message was cancelled before its turn came"));
    co_return;
  }
  const auto rest = after_reset_command(run.message_.content);
  if (rest && rest->empty()) {
    co_await start_over(std::move(key), run);
    co_return;
  }
  const auto& words = rest ? *rest : run.message_.content;
  auto recorded = co_await record_user(key, run, words, rest.has_value());
  if (!recorded) {
    log::error("conversation {}: the message could not be saved: {}", key.text(),
               recorded.error().what);
    events.fail(std::move(recorded).error().with("the message could not be saved"));
    co_return;
  }
  const auto session = *std::move(recorded);
  if (on_words_) on_words_(session->id(), words);
  events.push(Start{agent.name});

  End end;
  end.agent = agent.name;
  end.session_id = session->id().text();

  const auto* row = sessions_.find(session->id());
  const std::string model(row && !row->text("modelOverride").empty() ? row->text("modelOverride")
                                                                     : agent.model);
  // Who chose a model for a session chose that one.
  const auto fallback = model == agent.model ? agent.fallback : std::vector<std::string>();
  const auto chain = candidates(run.setup_->providers, agent, model, fallback);
  if (!chain) {
    end.error = chain.error().what;
    end.code = chain.error().code;
    events.push(std::move(end));
    events.close();
    co_return;
  }

  model::Request request;
  request.system = agent.prompt;
  request.messages = session::for_model(session->context());
  request.thinking = agent.thinking;
  request.max_tokens = agent.max_tokens;
  request.extra = agent.parameters;

  Segments segments(events, agent.name);
  const model::DeltaSink sink = [&](model::Delta delta) {
    segments.take(std::move(delta));
    if (segments.overflown()) run.stop_provider_.emit(asio::cancellation_type::terminal);
  };
  model::Outcome outcome = model::Failure{model::Failure::Kind::cancelled, "cancelled", 0, {}};
  const Candidate* asked = &chain->front();
  for (std::size_t i = 0; i < chain->size() && !run.cancelled_; ++i) {
    asked = &(*chain)[i];
    request.model = asked->route.model;
    outcome =
        co_await call(loop_, *asked->route.provider, request, sink, run.stop_provider_.slot());
    const auto* failure = std::get_if<model::Failure>(&outcome);
    if (!failure || segments.started() || !model::calls_for_fallback(*failure)) break;
    if (i + 1 < chain->size())
      log::warn("agent {}: model '{}' failed ({}); asking '{}'", agent.name, asked->model,
                model::name_of(failure->kind), (*chain)[i + 1].model);
  }
  end.model = asked->model;
  segments.close();

  // A provider that was done before it noticed has still said too much.
  if (segments.overflown()) outcome = model::Failure{};
  session::AssistantMessage reply;
  if (auto* whole = std::get_if<model::Reply>(&outcome)) {
    reply = std::move(whole->message);
    if (reply.usage.total() > 0) events.push(ContextUsage{reply.usage});
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
    reply.error_message = model::describe(failure, asked->model);
    end.error = reply.error_message;
    end.code = failure.kind == model::Failure::Kind::cancelled ? Errc::cancelled : Errc::provider;
  }
  reply.api = asked->route.provider->api();
  reply.provider = asked->route.provider_name;
  if (reply.model.empty()) reply.model = asked->route.model;
  reply.time = clock_.now();
  end.usage = reply.usage;

  const bool said_something =
      !reply.content.empty() || reply.stop_reason != session::StopReason::stop;
  if (said_something) {
    const auto saved = co_await session->append(session::draft_message(reply));
    if (!saved) {
      log::error("session {}: the reply could not be saved: {}", session->id().text(),
                 saved.error().what);
      end.error = "the reply could not be saved: " + saved.error().what;
      end.code = saved.error().code;
    }
  }
  // Nobody was there to see it.
  if (said_something && !events.has_readers()) sessions_.note(session->id(), {{"hasUnread", true}});
  events.push(std::move(end));
  events.close();
}

}  // namespace reef::runtime
