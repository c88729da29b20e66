// What agents ask: list_questions, reply_to_ask.

#include <algorithm>

#include <fmt/format.h>

#include "runtime/runtime.h"
#include "server/decisions.h"
#include "server/operations.h"
#include "server/server.h"
#include "session/session.h"

namespace reef::server {
namespace {

struct QuestionsNeeds {
  runtime::Runtime& runtime;
  session::Sessions& sessions;
  static QuestionsNeeds of(const Node& node) { return {node.runtime, node.sessions}; }
};

// A question that is kept nowhere is answered by ending the wait for it.
Task<Status> answer_by_id(QuestionsNeeds needs, std::string id, std::string content, std::string by,
                          std::string from, std::optional<session::ClientMark> mark) {
  auto& decisions = needs.runtime.decisions();
  const auto known = co_await decisions.find(id);
  if (!known && known.error().code != Errc::not_found) co_return known.error();
  if (!known) co_return needs.runtime.questions().answer(id, content);
  REEF_CO_CHECK(co_await decisions.answer(
      {std::move(id), std::move(content), std::move(by), std::move(from), std::move(mark)}));
  co_return Ok{};
}

// The oldest that waits in a conversation; what a turn waits for now goes first.
std::string oldest_in(QuestionsNeeds needs, const session::Key& key) {
  for (const auto* pending : needs.runtime.questions().list())
    if (pending->origin.key == key) return pending->id;
  const auto current = needs.sessions.current(key);
  return current ? needs.runtime.decisions().oldest(*current).value_or("") : "";
}

Task<Status> reply(QuestionsNeeds needs, protocol::Peer peer, protocol::ReplyToAsk request,
                   std::optional<session::ClientMark> mark) {
  const auto by = request.sender().empty() ? peer.sender : request.sender();
  std::string from(name_of(peer.via));
  if (request.has_id())
    co_return co_await answer_by_id(needs, request.id(), request.content(), by, std::move(from),
                                    std::move(mark));
  auto key = request.has_key() ? std::optional<std::string>(request.key()) : std::nullopt;
  REEF_CO_TRY(const auto address, needs.runtime.resolve(request.agent(), request.sender(), key));
  // Sent again after a crash it must not answer what was asked next.
  if (mark) {
    REEF_CO_TRY(const bool sent, co_await needs.runtime.was_sent(address.key, *mark));
    if (sent) co_return Ok{};
  }
  const auto id = oldest_in(needs, address.key);
  if (id.empty())
    co_return Error(Errc::not_found, fmt::format("no pending ask_user for agent='{}' sender='{}'",
                                                 address.agent.name, address.sender));
  co_return co_await answer_by_id(needs, id, request.content(), by, std::move(from),
                                  std::move(mark));
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

protocol::Answer answer_reply(const Asked& asked) {
  return protocol::answer_with(protocol::pong_when_done(
      reply(asked.needs(), asked.peer, asked.message.reply_to_ask(), asked.mark)));
}

// A question that was put as a forwarded tool call is answered as one.
Task<Status> reply_to_tool(QuestionsNeeds needs, protocol::Peer peer,
                           protocol::ReplyToTool request) {
  auto& questions = needs.runtime.questions();
  Status answered = Ok{};
  if (request.is_error()) {
    answered = questions.decline(request.call_id(), request.output());
  } else {
    answered = co_await answer_by_id(needs, request.call_id(), request.output(), peer.sender,
                                     std::string(name_of(peer.via)), {});
  }
  if (!answered && answered.error().code == Errc::not_found)
    answered = needs.runtime.forwards().answer(request.conversation_id(), request.call_id(),
                                               request.output(), request.is_error());
  co_return answered;
}

protocol::Answer answer_reply_to_tool(const Asked& asked) {
  return protocol::answer_with(protocol::pong_when_done(
      reply_to_tool(asked.needs(), asked.peer, asked.message.reply_to_tool())));
}

// Lists the questions of turns that run and of turns that a restart cut off, the oldest first.
Task<protocol::ServerMessage> list_questions(QuestionsNeeds needs,
                                             protocol::ListQuestions request) {
  using runtime::Ask;
  constexpr std::size_t kBytesMax = 8U << 20;
  std::vector<protocol::PendingQuestion> found;
  std::size_t bytes = 0;
  runtime::Decisions::Query query{{}, request.agent(), request.sender()};
  query.kinds = {Ask::Kind::question, Ask::Kind::permission};
  do {
    const auto page = co_await needs.runtime.decisions().list(query);
    if (!page) co_return protocol::make_error(page.error());
    for (const auto& one : page->decisions) {
      if (needs.runtime.questions().find(one.id)) continue;
      auto& out = found.emplace_back();
      out.set_agent(one.agent);
      out.set_sender(one.sender);
      out.set_key(one.key);
      out.set_session_id(one.session);
      out.set_asked_at(format_iso(one.asked));
      if (one.expires) out.set_expires_at(format_iso(*one.expires));
      fill_ask(*out.mutable_ask(), one.id, one.call_id, one.ask);
      bytes += out.ByteSizeLong();
    }
    query.cursor = page->cursor;
  } while (!query.cursor.empty() && bytes < kBytesMax);
  std::reverse(found.begin(), found.end());
  protocol::ServerMessage message;
  auto& list = *message.mutable_question_list();
  for (auto& one : found) *list.add_questions() = std::move(one);
  for (const auto* pending : needs.runtime.questions().list()) {
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
  co_return message;
}

protocol::Answer answer_list_questions(QuestionsNeeds needs,
                                       const protocol::ListQuestions& request) {
  return protocol::answer_with(list_questions(needs, request));
}

}  // namespace

Operations questions_operations() {
  using M = protocol::ClientMessage;
  using protocol::Right;
  static constexpr Operation kRows[] = {
      {M::kReplyToTool, Right::answer, Messages::one, Naming::ledger, answer_reply_to_tool},
      {M::kReplyToAsk, Right::answer, Messages::one, Naming::ledger, answer_reply},
      {M::kListQuestions, Right::read, Messages::one, Naming::none,
       answered<&M::list_questions, answer_list_questions>},
  };
  return kRows;
}

}  // namespace reef::server
