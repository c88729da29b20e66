// Questions of agents: list_questions, reply_to_ask.

#include <fmt/format.h>

#include "server/operations.h"
#include "server/server.h"

namespace reef::server {
namespace {

Status reply(Node& node, const protocol::ReplyToAsk& request) {
  auto& questions = node.runtime.questions();
  if (request.has_id()) return questions.answer(request.id(), request.content());
  auto key = request.has_key() ? std::optional<std::string>(request.key()) : std::nullopt;
  REEF_TRY(const auto address, node.runtime.resolve(request.agent(), request.sender(), key));
  auto answered = questions.answer_oldest(address.key, request.content());
  if (answered || answered.error().code != Errc::not_found) return answered;
  return Error(Errc::not_found, fmt::format("no pending ask_user for agent='{}' sender='{}'",
                                            address.agent.name, address.sender));
}

}  // namespace

void fill_ask(protocol::AskUser& out, const std::string& id, const std::string& call_id,
              const runtime::Ask& ask) {
  out.set_id(id);
  out.set_call_id(call_id);
  out.set_kind(std::string(runtime::name_of(ask.kind)));
  for (const auto& question : ask.questions) {
    auto& shown = *out.add_questions();
    shown.set_question(question.text);
    shown.set_header(question.header);
    shown.set_multi_select(question.multi_select);
    for (const auto& option : question.options) {
      shown.add_options()->set_label(option.label);
      shown.mutable_options()->rbegin()->set_description(option.description);
    }
  }
}

namespace {

protocol::Answer answer_reply(Node& node, const protocol::ReplyToAsk& request) {
  const auto answered = reply(node, request);
  if (!answered) return protocol::answer_with(answered.error());
  return protocol::answer_with(protocol::make_pong());
}

// Answers a forwarded tool call, or the question that was sent as one.
protocol::Answer answer_reply_to_tool(Node& node, const protocol::ReplyToTool& request) {
  auto& questions = node.runtime.questions();
  auto answered = request.is_error() ? questions.decline(request.call_id(), request.output())
                                     : questions.answer(request.call_id(), request.output());
  if (!answered && answered.error().code == Errc::not_found)
    answered = node.runtime.forwards().answer(request.conversation_id(), request.call_id(),
                                              request.output(), request.is_error());
  if (!answered) return protocol::answer_with(answered.error());
  return protocol::answer_with(protocol::make_pong());
}

protocol::Answer answer_list_questions(Node& node, const protocol::ListQuestions& request) {
  protocol::ServerMessage message;
  auto& list = *message.mutable_question_list();
  for (const auto* pending : node.runtime.questions().list()) {
    const auto& origin = pending->origin;
    if (!request.agent().empty() && request.agent() != origin.agent) continue;
    if (!request.sender().empty() && request.sender() != origin.sender) continue;
    auto& out = *list.add_questions();
    out.set_agent(origin.agent);
    out.set_sender(origin.sender);
    out.set_key(origin.key.text());
    out.set_session_id(origin.session.text());
    out.set_asked_at(format_iso(pending->asked_at));
    if (pending->expires_at) out.set_expires_at(format_iso(*pending->expires_at));
    fill_ask(*out.mutable_ask(), pending->id, origin.call_id, pending->ask);
  }
  return protocol::answer_with(std::move(message));
}

}  // namespace

Operations questions_operations() {
  using M = protocol::ClientMessage;
  using protocol::Right;
  static constexpr Operation kRows[] = {
      {M::kReplyToTool, Right::answer, Answers::once,
       answered<&M::reply_to_tool, answer_reply_to_tool>},
      {M::kReplyToAsk, Right::answer, Answers::once, answered<&M::reply_to_ask, answer_reply>},
      {M::kListQuestions, Right::read, Answers::once,
       answered<&M::list_questions, answer_list_questions>},
  };
  return kRows;
}

}  // namespace reef::server
