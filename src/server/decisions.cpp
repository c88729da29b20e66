// What a person decides, of all sessions: list, answer.

#include "server/decisions.h"

#include <fmt/format.h>

#include "base/shield.h"
#include "runtime/runtime.h"
#include "server/operations.h"
#include "server/permissions.h"
#include "server/server.h"
#include "server/sessions.h"
#include "session/session.h"

namespace reef::server {
namespace {

struct DecisionsNeeds {
  runtime::Runtime& runtime;
  session::Sessions& sessions;
  PermissionsNeeds plans;
  static DecisionsNeeds of(const Node& node) {
    return {node.runtime, node.sessions, PermissionsNeeds::of(node)};
  }
};

using runtime::Ask;

Task<protocol::ServerMessage> list(DecisionsNeeds needs, protocol::ListDecisions request) {
  auto& decisions = needs.runtime.decisions();
  protocol::ServerMessage message;
  auto& out = *message.mutable_decision_list();
  if (!request.id().empty()) {
    const auto one = co_await decisions.find(request.id());
    if (!one) co_return protocol::make_error(one.error());
    server::fill(*out.add_decisions(), *one);
    out.set_total(1);
    co_return message;
  }
  if (!request.session_id().empty())
    if (const auto known = known_session(needs.sessions, request.session_id()); !known)
      co_return protocol::make_error(known.error());
  if (request.history() && request.session_id().empty())
    co_return protocol::make_error(
        Error(Errc::invalid, "history: it is told of one session; name it in session_id"));
  runtime::Decisions::Query query{request.session_id(), request.agent(), request.sender(),
                                  request.history()};
  query.limit = request.limit();
  query.cursor = request.cursor();
  const auto page = co_await decisions.list(std::move(query));
  if (!page) co_return protocol::make_error(page.error());
  // What is asked about may be long, and must fit in a message.
  constexpr std::size_t kBytesMax = 8U << 20;
  for (const auto& one : page->decisions) {
    server::fill(*out.add_decisions(), one);
    if (out.ByteSizeLong() > kBytesMax && out.decisions_size() > 1) {
      out.mutable_decisions()->RemoveLast();
      co_return protocol::make_error(
          Error(Errc::too_large, "the decisions are too long for one answer; ask for fewer"));
    }
  }
  out.set_cursor(page->cursor);
  out.set_total(page->total);
  co_return message;
}

// Whether the first option that agrees was chosen, and which mode it stands for.
std::optional<std::string> accepted_mode(const Ask& ask, const std::string& words) {
  const auto answers = runtime::answers_from(ask, words);
  if (ask.questions.empty() || answers.empty() || answers[0].size() != 1) return std::nullopt;
  const auto& options = ask.questions[0].options;
  if (options.size() != 3) return std::nullopt;
  if (answers[0][0] == options[0].label) return "ask";
  if (answers[0][0] == options[1].label) return "allow-all";
  return std::nullopt;
}

bool is_declined(const Ask& ask, const std::string& words) {
  const auto answers = runtime::answers_from(ask, words);
  return !ask.questions.empty() && !answers.empty() && answers[0].size() == 1 &&
         !ask.questions[0].options.empty() &&
         answers[0][0] == ask.questions[0].options.back().label;
}

// Words about a plan are said to the agent; what is accepted is carried out. Neither is waited for.
Task<Status> follow_plan(DecisionsNeeds needs, runtime::Decision decision) {
  if (is_declined(decision.ask, decision.answer)) co_return Ok{};
  REEF_CO_TRY(auto id, session::SessionId::parse(decision.session));
  const auto mode = accepted_mode(decision.ask, decision.answer);
  runtime::Message message;
  if (mode) {
    protocol::AcceptPlan request;
    request.set_session_id(decision.session);
    request.set_name(decision.plan);
    request.set_mode(*mode);
    REEF_CO_TRY(const auto turn,
                co_await begin_plan(needs.plans, std::move(id), std::move(request)));
    message.agent = turn.agent();
    message.sender = turn.sender();
    message.key = turn.key();
    message.cwd = turn.cwd();
    message.content = turn.content();
  } else {
    const auto* row = needs.sessions.find(id);
    if (!row) co_return session::no_session(id);
    message.agent = std::string(row->agent());
    message.sender = decision.sender.empty() ? std::string(row->sender()) : decision.sender;
    message.key = std::string(row->key());
    message.cwd = decision.cwd;
    message.content = decision.answer;
  }
  REEF_CO_CHECK(needs.runtime.submit(std::move(message)));
  co_return Ok{};
}

Task<protocol::ServerMessage> answer(DecisionsNeeds needs, protocol::Peer peer,
                                     protocol::AnswerDecision request,
                                     std::optional<session::ClientMark> mark) {
  auto& decisions = needs.runtime.decisions();
  const auto asked = co_await decisions.find(request.id());
  if (!asked) co_return protocol::make_error(asked.error());
  const bool plan = asked->ask.kind == Ask::Kind::plan;
  // It changes the session's mode, as AcceptPlan does.
  if (plan && accepted_mode(asked->ask, request.answer()) &&
      protocol::right_of(peer) < protocol::Right::admin)
    co_return protocol::make_error(Error(
        Errc::denied, "to accept a plan needs the right 'admin': it changes what may be done"));
  const bool answered_before = asked->state != runtime::Decision::State::pending;
  runtime::Decisions::Reply reply{request.id(), request.answer(), request.by(),
                                  std::string(name_of(peer.via)), std::move(mark)};
  const auto done = co_await decisions.answer(std::move(reply));
  if (!done) co_return protocol::make_error(done.error());
  if (plan && !answered_before)
    if (const auto followed = co_await follow_plan(needs, *done); !followed)
      co_return protocol::make_error(
          Error(followed.error()).with("the answer is kept, but nothing could be done about it"));
  protocol::ServerMessage message;
  server::fill(*message.mutable_decision(), *done);
  co_return message;
}

}  // namespace

void fill(protocol::Decision& out, const runtime::Decision& decision) {
  out.set_id(decision.id);
  out.set_kind(std::string(runtime::name_of(decision.ask.kind)));
  out.set_state(std::string(runtime::name_of(decision.state)));
  out.set_agent(decision.agent);
  out.set_sender(decision.sender);
  out.set_key(decision.key);
  out.set_session_id(decision.session);
  if (decision.asked != TimePoint()) out.set_asked_at(format_iso(decision.asked));
  if (decision.expires) out.set_expires_at(format_iso(*decision.expires));
  fill_ask(*out.mutable_ask(), decision.id, decision.call_id, decision.ask);
  out.set_answer(decision.answer);
  out.set_answered_by(decision.by);
  out.set_answered_from(decision.from);
  if (decision.settled) out.set_settled_at(format_iso(*decision.settled));
  out.set_reason(decision.reason);
  out.set_plan(decision.plan);
}

Operations decisions_operations() {
  using M = protocol::ClientMessage;
  using protocol::Right;
  static constexpr Operation kRows[] = {
      {M::kListDecisions, Right::read, Messages::one, Naming::none,
       [](const Asked& asked) {
         return protocol::answer_with(list(asked.needs(), asked.message.list_decisions()));
       }},
      {M::kAnswerDecision, Right::answer, Messages::one, Naming::ledger,
       [](const Asked& asked) {
         return protocol::answer_with(shielded(
             answer(asked.needs(), asked.peer, asked.message.answer_decision(), asked.mark)));
       }},
  };
  return kRows;
}

}  // namespace reef::server
