// Turns and restarts: messages that are sent again, questions that outlive the daemon, and turns
// that go on where a crash cut them off.

#include <algorithm>

#include <fmt/format.h>

#include "base/log.h"
#include "base/shield.h"
#include "base/utf8.h"
#include "runtime/retell.h"
#include "runtime/turn.h"

namespace reef::runtime {
namespace {

constexpr std::string_view kCutOff =
    "interrupted: the daemon ended while this call ran; whether it was carried out is not known";

// The kind of a message, whoever says it and wherever.
std::string sum_of(const Message& message) {
  return session::fingerprint({message.content, message.guest, message.hidden ? "hidden" : ""});
}

// The calls of the last reply that have no result yet.
struct LastStep {
  std::vector<session::ToolCallBlock> open;
  bool wants_reply = false;  // a model has not spoken the last word
  bool hidden = false;
};

LastStep last_step(const session::Context& context) {
  LastStep out;
  std::set<std::string> answered;
  const auto& items = context.items;
  for (auto item = items.rbegin(); item != items.rend(); ++item) {
    const auto& message = *item->message;
    if (const auto* result = std::get_if<session::ToolResultMessage>(&message)) {
      answered.insert(result->tool_call_id);
      out.wants_reply = true;
    } else if (const auto* reply = std::get_if<session::AssistantMessage>(&message)) {
      // A failed reply counts as never said.
      if (reply->stop_reason == session::StopReason::error ||
          reply->stop_reason == session::StopReason::aborted)
        continue;
      for (const auto& block : reply->content)
        if (const auto* call = std::get_if<session::ToolCallBlock>(&block)) {
          out.wants_reply = true;
          if (!answered.contains(call->id)) out.open.push_back(*call);
        }
      out.hidden = reply->hidden;
      return out;
    } else if (const auto* words = std::get_if<session::UserMessage>(&message)) {
      out.wants_reply = true;
      out.hidden = words->hidden;
      return out;
    }
  }
  return out;
}

}  // namespace

void Runtime::note_kept(const session::Key& key, const Run& run, const session::SessionId& id) {
  if (run.message_.client) sent_.kept(key, *run.message_.client, id);
  for (const auto& joined : run.joined_)
    if (joined->message_.client) sent_.kept(key, *joined->message_.client, id);
}

Task<Result<bool>> Runtime::was_sent(session::Key key, session::ClientMark mark) {
  REEF_CO_CHECK(co_await sent_.load(key));
  REEF_CO_TRY(const auto known, sent_.look(key, mark));
  co_return known.has_value();
}

Task<Result<std::shared_ptr<Run>>> Runtime::submit_once(Message message) {
  if (!message.client || message.ephemeral) co_return submit(std::move(message));
  REEF_CO_TRY(const auto address, address_of(message));
  message.client->sender = address.sender;
  message.client->sum = sum_of(message);
  const auto mark = *message.client;
  REEF_CO_CHECK(co_await sent_.load(address.key));
  REEF_CO_TRY(auto known, sent_.look(address.key, mark));
  if (!known) co_return submit(std::move(message));
  if (known->run) co_return known->run;
  REEF_CO_TRY(auto told,
              co_await told_again(address.key, *known->session, message, known->unanswered));
  if (told) co_return told;
  // It is kept and was never answered: a crash came between. Whatever runs there answers it.
  if (const auto found = conversations_.find(address.key); found != conversations_.end()) {
    const auto& conversation = *found->second;
    co_return conversation.current ? conversation.current : conversation.queue.front();
  }
  if (sessions_.current(address.key) != known->session)
    co_return Error(Errc::conflict,
                    fmt::format("the message is kept in session {}, unanswered; the conversation "
                                "went on in another session",
                                known->session->text()));
  message.content.clear();
  message.queue = QueueMode::followup;
  message.resumes = *known->session;
  co_return submit(std::move(message));
}

Task<Result<std::shared_ptr<Run>>> Runtime::told_again(session::Key key, session::SessionId id,
                                                       Message message, bool unanswered) {
  REEF_CO_TRY(const auto address, address_of(message));
  const auto mark = *message.client;
  auto run = std::make_shared<Run>(loop_, std::move(message), address.agent, setup_);
  run->session_id_ = id.text();
  auto& events = run->events_;
  if (unanswered) {
    events.fail(Error(Errc::cancelled, "the message was cancelled before its turn came"));
    co_return run;
  }
  REEF_CO_TRY(const auto transcript, co_await sessions_.read(id));
  auto told = retell(transcript, mark, id, address.agent.name);
  if (!told) {
    // Nothing but a new session was asked for.
    events.push(Start{address.agent.name});
    End end;
    end.agent = address.agent.name;
    end.session_id = id.text();
    events.push(std::move(end));
    events.close();
    co_return run;
  }
  if (!told->answered && told->last) co_return std::shared_ptr<Run>();
  if (!told->answered) {
    events.fail(Error(Errc::conflict,
                      "the message is kept, and was never answered: the "
                      "conversation was taken back to before it"));
    co_return run;
  }
  for (auto& event : told->events) events.push(std::move(event));
  events.close();
  co_return run;
}

Task<Status> Runtime::steer_once(Message message) {
  if (!message.client) co_return steer(std::move(message));
  REEF_CO_TRY(const auto address, address_of(message));
  message.client->sender = address.sender;
  message.client->sum = sum_of(message);
  REEF_CO_TRY(const bool sent, co_await was_sent(address.key, *message.client));
  if (sent) co_return Ok{};
  co_return steer(std::move(message));
}

Result<std::shared_ptr<Run>> Runtime::resume(const Decision& decision) {
  REEF_TRY(auto message, message_to_resume(decision));
  return submit(std::move(message));
}

Result<Message> Runtime::message_to_resume(const Decision& decision) const {
  REEF_TRY(const auto id, session::SessionId::parse(decision.session));
  const auto* row = sessions_.find(id);
  if (!row) return session::no_session(id);
  REEF_TRY(const auto key, session::Key::parse(row->key()));
  if (sessions_.current(key) != id)
    return Error(Errc::conflict,
                 fmt::format("the conversation went on in another session; `reef resume {}` makes "
                             "this one its current one again",
                             id.text()));
  Message message;
  message.agent = std::string(row->agent());
  message.sender = decision.sender.empty() ? std::string(row->sender()) : decision.sender;
  message.cwd = decision.cwd;
  message.key = key.text();
  message.queue = QueueMode::followup;
  message.only_tools = decision.only_tools;
  message.resumes = id;
  return message;
}

Task<Result<std::shared_ptr<session::Session>>> Runtime::reopen(const session::Key& key,
                                                                const Run& run) {
  const auto id = *run.message_.resumes;
  if (sessions_.current(key) != id)
    co_return Error(Errc::conflict, "the conversation went on in another session");
  co_return co_await sessions_.open(id);
}

Task<bool> Runtime::finish_round(Turn& turn) {
  auto step = last_step(turn.context());
  turn.end.hidden = step.hidden;
  if (step.open.empty()) co_return step.wants_reply;
  const auto transcript = co_await sessions_.read(turn.id);
  if (!transcript) {
    turn.end.error = "the session could not be read: " + transcript.error().what;
    turn.end.code = transcript.error().code;
    co_return false;
  }
  auto& recorded = turn.run.recorded_;
  for (auto& decision : decisions_in(*transcript, turn.id))
    if (decision.state == Decision::State::pending && !decision.call_id.empty() &&
        why_over(*transcript, decision, clock_.now()).empty())
      recorded.push_back(std::move(decision));
  const auto is_asked = [&](const session::ToolCallBlock& call) {
    return std::any_of(recorded.begin(), recorded.end(),
                       [&](const Decision& one) { return one.call_id == call.id; });
  };
  Step again;
  for (auto& call : step.open) {
    if (is_asked(call)) {
      again.calls.push_back(std::move(call));
      continue;
    }
    // It may have run: once is enough.
    session::ToolResultMessage lost;
    lost.tool_call_id = call.id;
    lost.tool_name = call.name;
    lost.content.push_back(session::TextBlock{std::string(kCutOff)});
    lost.is_error = true;
    lost.time = clock_.now();
    lost.hidden = turn.end.hidden;
    if (!co_await save(turn, lost, "tool's result")) co_return false;
  }
  if (!again.calls.empty()) co_await call_tools(turn, std::move(again));
  if (turn.run.cancelled_) {
    turn.end.error = "cancelled";
    turn.end.code = Errc::cancelled;
  }
  co_return turn.end.error.empty();
}

Task<void> Runtime::close_open(Turn& turn) {
  auto& run = turn.run;
  if (!turn.session || run.parked_) co_return;
  std::vector<std::string> ids;
  for (const auto& [id, call] : std::exchange(run.open_, {})) ids.push_back(id);
  for (const auto& one : std::exchange(run.recorded_, {})) ids.push_back(one.id);
  if (!ids.empty())
    co_await decisions_.close(
        turn.id, std::move(ids),
        run.cancelled_ ? "the turn was cancelled" : "the call did without an answer");
}

Task<Result<std::vector<UserAnswer>>> Runtime::ask_user(std::shared_ptr<Run> run,
                                                        std::weak_ptr<session::Session> session,
                                                        Questions::Origin origin, Ask ask) {
  struct Withdrawal {
    EventLog& events;
    std::string id = {};
    ~Withdrawal() { events.withdraw(id); }
  } shown{run->events_};
  auto patience = ask.patience.count() > 0 ? ask.patience : run->setup_->ask_patience;
  const auto call_id = origin.call_id;
  const auto id_of_session = origin.session;
  std::string id;
  auto& recorded = run->recorded_;
  const auto same = std::find_if(recorded.begin(), recorded.end(), [&](const Decision& one) {
    return one.call_id == call_id && same_words(one.ask, ask);
  });
  if (same != recorded.end()) {
    // It was asked before the restart, and is what was asked about then.
    id = same->id;
    if (same->expires)
      patience = std::max(
          std::chrono::milliseconds(1),
          std::chrono::duration_cast<std::chrono::milliseconds>(*same->expires - clock_.now()));
    if (!same->expires) patience = std::chrono::milliseconds(0);
    recorded.erase(same);
    run->open_[id] = call_id;
  } else if (const auto kept = session.lock()) {
    Decision decision;
    decision.id = id = decisions_.new_id(id_of_session);
    decision.agent = origin.agent;
    decision.sender = origin.sender;
    decision.key = origin.key.text();
    decision.session = id_of_session.text();
    decision.call_id = call_id;
    decision.ask = ask;
    decision.asked = clock_.now();
    if (patience.count() > 0) decision.expires = decision.asked + patience;
    decision.cwd = run->message_.cwd;
    decision.only_tools = run->message_.only_tools;
    // Before it is written: a kill may come on the way.
    run->open_[id] = ask.nested ? std::string() : call_id;
    const auto asked = co_await decisions_.ask(kept, std::move(decision));
    if (!asked) {
      run->open_.erase(id);
      co_return Error(asked.error()).with("the question could not be saved");
    }
  }
  auto answers = co_await questions_.put(
      std::move(origin), std::move(ask), patience,
      [&](const Questions::Pending& pending) {
        shown.id = pending.id;
        run->events_.push(AskUser{pending.id, call_id, pending.ask});
      },
      id);
  if (id.empty()) co_return answers;
  run->open_.erase(id);
  if (!answers) {
    std::vector<std::string> ids = {id};
    co_await decisions_.close(id_of_session, std::move(ids), answers.error().what);
  }
  co_return answers;
}

Task<void> Runtime::keep_result(Turn& turn, session::Message result, std::string plan) {
  co_await yield_to_loop();
  if (plan.empty() || !turn.session || turn.end.hidden) {
    co_await save(turn, result, "tool's result");
    co_return;
  }
  Decision decision;
  decision.id = decisions_.new_id(turn.id);
  decision.agent = turn.run.agent_.name;
  decision.sender = turn.run.message_.sender;
  decision.key = turn.key.text();
  decision.session = turn.id.text();
  decision.plan = plan;
  decision.asked = clock_.now();
  decision.cwd = turn.run.message_.cwd;
  decision.ask.kind = Ask::Kind::plan;
  decision.ask.questions.push_back({fmt::format("Is plan '{}' to be carried out?", plan),
                                    "Plan",
                                    {{"Accept", "in ask mode"},
                                     {"Accept, allow all", "in allow-all mode"},
                                     {"Decline", "or say what to do instead"}},
                                    false});
  // The same plan handed in again is another one.
  std::vector<Decision> over;
  for (auto& one : decisions_.closing(turn.id, "the plan was handed in again"))
    if (const auto* row = sessions_.find(turn.id);
        one.ask.kind == Ask::Kind::plan &&
        std::any_of(row->waiting.begin(), row->waiting.end(), [&](const auto& waiting) {
          return waiting.id == one.id && waiting.about == plan;
        }))
      over.push_back(std::move(one));
  std::vector<session::Draft> drafts;
  drafts.push_back(session::draft_message(result));
  for (const auto& one : over) drafts.push_back(Decisions::closed_draft(one));
  drafts.push_back(Decisions::asked_draft(decision));
  if (!co_await save_all(turn, std::move(drafts), "tool's result")) co_return;
  for (const auto& one : over) decisions_.told(one);
  decisions_.told(decision);
}

Task<void> Runtime::offer_retry(Turn& turn) {
  const auto& end = turn.end;
  const auto& run = turn.run;
  const bool mendable =
      end.code != Errc::cancelled && end.code != Errc::no_space && end.code != Errc::io;
  if (end.error.empty() || !mendable || !turn.session || end.hidden || run.guest() ||
      run.cancelled_ || run.message_.as || !run.message_.lineage.parent.empty())
    co_return;
  Decision decision;
  decision.id = decisions_.new_id(turn.id);
  decision.agent = run.agent_.name;
  decision.sender = run.message_.sender;
  decision.key = turn.key.text();
  decision.session = turn.id.text();
  decision.asked = clock_.now();
  decision.cwd = run.message_.cwd;
  decision.only_tools = run.message_.only_tools;
  decision.ask.kind = Ask::Kind::failed;
  decision.ask.questions.push_back(
      {std::string(utf8::prefix(end.error, 4096)),
       "Failed",
       {{"Try again", "the turn goes on where it failed"}, {"Leave it", ""}},
       false});
  // The turn has failed as it is; without this it can only be asked for again in words.
  if (const auto asked = co_await decisions_.ask(turn.session, std::move(decision)); !asked)
    log::warn("session {}: {}", turn.id.text(), asked.error().what);
}

void Runtime::tell_decision(const Decision& decision) {
  if (broadcast_.subscribers() == 0) return;
  const Scene scene{
      decision.agent, decision.sender, decision.key, decision.session, false, false, {}};
  broadcast_.publish(scene, Decided{std::make_shared<const Decision>(decision)}, clock_.now());
}

}  // namespace reef::runtime
