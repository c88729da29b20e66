// Describes a session to a person: what fills its window, how it stands, what it is called.

#include <fmt/format.h>

#include "organise/definitions.h"
#include "runtime/runtime.h"
#include "runtime/title.h"
#include "server/operations.h"
#include "server/server.h"
#include "server/sessions.h"
#include "server/turns.h"
#include "server/usage.h"
#include "session/session.h"
#include "session/transcripts.h"

namespace reef::server {
namespace {

struct ContextsNeeds {
  runtime::Runtime& runtime;
  session::Sessions& sessions;
  session::Transcripts& store;
  organise::Definitions& definitions;
  static ContextsNeeds of(const Node& node) {
    return {node.runtime, node.sessions, node.store, node.definitions};
  }
};

Task<protocol::ServerMessage> generate_title(ContextsNeeds needs, session::SessionId id,
                                             bool replace) {
  const auto* row = needs.sessions.find(id);
  auto agent = needs.runtime.setup().find(row ? row->agent() : std::string_view());
  if (!agent) co_return protocol::make_error(agent.error());
  runtime::TitleRequest request{id, *std::move(agent), needs.runtime.shared_setup(), replace};
  const auto title = co_await runtime::make_title(needs.sessions, std::move(request));
  if (!title) co_return protocol::make_error(title.error());
  co_return session_info(needs.sessions, needs.definitions, id);
}

Task<protocol::ServerMessage> describe_context(ContextsNeeds needs, session::SessionId id) {
  const auto report = co_await needs.runtime.window_of(id);
  if (!report) co_return protocol::make_error(report.error());
  protocol::ServerMessage message;
  auto& out = *message.mutable_context_description();
  out.set_id(id.text());
  out.set_model(report->model);
  out.set_window(report->usage.window);
  out.set_reserve(report->usage.reserve);
  out.set_tokens(report->usage.tokens);
  out.set_estimated(report->usage.estimated);
  for (const auto& [kind, tokens, count] : report->parts) {
    auto& part = *out.add_parts();
    part.set_kind(kind);
    part.set_tokens(tokens);
    part.set_count(count);
  }
  out.set_prunable(report->prunable);
  out.set_estimate_error(report->error.value_or(-1));
  co_return message;
}

// The error of the newest reply; empty when that did not fail.
std::string last_error(const session::Context& context) {
  for (auto item = context.items.rbegin(); item != context.items.rend(); ++item)
    if (const auto* reply = std::get_if<session::AssistantMessage>(item->message.get()))
      return reply->stop_reason == session::StopReason::error ? reply->error_message
                                                              : std::string();
  return {};
}

Result<session::SessionId> wanted_session(ContextsNeeds needs,
                                          const protocol::DescribeSession& request) {
  if (!request.id().empty()) return known_session(needs.sessions, request.id());
  const auto key = request.has_key() ? std::optional(request.key()) : std::nullopt;
  REEF_TRY(const auto address, needs.runtime.resolve(request.agent(), request.sender(), key));
  const auto id = needs.sessions.current(address.key);
  if (!id)
    return Error(Errc::not_found,
                 fmt::format("there is no conversation '{}' yet", address.key.text()));
  return *id;
}

Task<protocol::ServerMessage> describe_session(ContextsNeeds needs, session::SessionId id) {
  const auto opened = co_await needs.sessions.open(id);
  if (!opened) co_return protocol::make_error(opened.error());
  // The session's agent, or its model, may be gone: all else that is known is still told.
  const auto window = co_await needs.runtime.window_of(id);
  const auto* row = needs.sessions.find(id);
  if (!row) co_return protocol::make_error(session::no_session(id));
  const auto& setup = needs.runtime.setup();
  const auto found = setup.find(row->agent());
  const auto agent = found ? *found : runtime::Agent();

  protocol::ServerMessage message;
  auto& out = *message.mutable_session_description();
  server::fill(*out.mutable_session(), *row, needs.definitions);
  out.set_model(runtime::model_for(row, agent));
  const auto thinking = row->text("thinkingLevel");
  out.set_thinking(std::string(thinking.empty() ? model::name_of(agent.thinking) : thinking));
  if (window) server::fill(*out.mutable_context(), window->usage);
  server::fill(*out.mutable_usage(), row->id.text(), row->usage);
  out.set_compactions(row->compaction_count);
  out.set_permission_mode(std::string(
      runtime::name_of(mode_of(agent, runtime::is_local(row->sender(), row->key()), *row))));
  out.set_last_error(window ? last_error((*opened)->context()) : window.error().what);
  out.set_store_path(needs.store.path_of(id));
  if (const auto key = session::Key::parse(row->key())) {
    out.set_queue(std::string(name_of(needs.runtime.queue_of(*key, agent))));
    // Its conversation may be in another session by now, and then nothing runs here.
    if (needs.sessions.current(*key) == id) {
      const auto activity = needs.runtime.activity(*key);
      out.set_running(activity.running);
      out.set_waiting(static_cast<std::uint32_t>(activity.waiting));
    }
  } else {
    out.set_queue(std::string(name_of(agent.queue)));
  }
  co_return message;
}

protocol::Answer answer_generate_title(ContextsNeeds needs,
                                       const protocol::GenerateTitle& request) {
  auto id = known_session(needs.sessions, request.id());
  if (!id) return protocol::answer_with(id.error());
  return protocol::answer_with(generate_title(needs, *std::move(id), request.replace()));
}

protocol::Answer answer_describe_context(ContextsNeeds needs,
                                         const protocol::DescribeContext& request) {
  auto id = known_session(needs.sessions, request.id());
  if (!id) return protocol::answer_with(id.error());
  return protocol::answer_with(describe_context(needs, *std::move(id)));
}

protocol::Answer answer_describe_session(ContextsNeeds needs,
                                         const protocol::DescribeSession& request) {
  auto id = wanted_session(needs, request);
  if (!id) return protocol::answer_with(id.error());
  return protocol::answer_with(describe_session(needs, *std::move(id)));
}

}  // namespace

Operations contexts_operations() {
  using M = protocol::ClientMessage;
  using protocol::Right;
  static constexpr Operation kRows[] = {
      {M::kGenerateTitle, Right::admin, Messages::one, Naming::ledger,
       answered<&M::generate_title, answer_generate_title>},
      {M::kDescribeContext, Right::read, Messages::one, Naming::none,
       answered<&M::describe_context, answer_describe_context>},
      {M::kDescribeSession, Right::read, Messages::one, Naming::none,
       answered<&M::describe_session, answer_describe_session>},
  };
  return kRows;
}

}  // namespace reef::server
