// One turn: makes the user's words durable, takes steps until the model is done, sends `end`.

#include "runtime/turn.h"

#include <fmt/format.h>

#include "base/log.h"
#include "runtime/reset.h"

namespace reef::runtime {
namespace {

// The models to ask, in turn. A fallback that no provider serves is left out.
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

// Each message with the name its client gave it, and behind it what hooks put beside it.
std::vector<session::Draft> drafts_of(
    std::vector<Words> words, TimePoint now,
    const std::vector<std::optional<session::Marked>>& marks = {}) {
  std::vector<session::Draft> drafts;
  for (std::size_t i = 0; i < words.size(); ++i) {
    auto& said = words[i];
    session::UserMessage message;
    message.content.push_back(session::TextBlock{std::move(said.text)});
    message.time = now;
    message.hidden = said.hidden;
    drafts.push_back(session::draft_message(message));
    if (i < marks.size() && marks[i])
      session::put_mark(drafts.back().fields, marks[i]->mark, marks[i]->unanswered);
    for (auto& beside : said.beside) drafts.push_back(std::move(beside));
  }
  return drafts;
}

// Must agree with the index (recall/document.h), which cannot count messages it does not know.
bool is_found(const Words& said) {
  return !said.hidden && !said.text.empty();
}

}  // namespace

std::string model_for(const session::Row* row, const Agent& agent) {
  const auto chosen = row ? row->text("modelOverride") : std::string_view();
  return chosen.empty() ? agent.model : std::string(chosen);
}

Task<Result<std::shared_ptr<session::Session>>> Runtime::record_user(session::Key key,
                                                                     const Run& run,
                                                                     std::vector<Words> words,
                                                                     Marks marks, bool fresh) {
  const auto now = clock_.now();
  auto drafts = drafts_of(std::move(words), now, marks);

  const auto current = sessions_.current(key);
  if (current && !fresh) {
    const auto* row = sessions_.find(*current);
    const auto rule = run.setup_->expiry_for(run.host(), key.text());
    if (row && is_expired(rule, row->last_used(), now)) {
      log::info("conversation {}: session {} has expired", key.text(), current->text());
      fresh = true;
    }
  }
  if (current && !fresh) {
    // A copy: a session that is gone is made anew with the same words.
    auto session = co_await add_words(*current, drafts);
    if (session) co_return session;
    // A folder that somebody removed must not silence its conversation; any other failure is
    // reported.
    if (session.error().code != Errc::not_found) co_return session;
    sessions_.drop_missing(*current);
  }
  session::Sessions::New request{key, run.host().name, run.message_.sender, run.message_.cwd, {}};
  request.drafts = std::move(drafts);
  auto made = co_await sessions_.create(std::move(request));
  if (made && current) {
    std::vector<std::string> ids;
    if (const auto* row = sessions_.find(*current))
      for (const auto& one : row->waiting) ids.push_back(one.id);
    co_await decisions_.close(*current, std::move(ids),
                              "the conversation went on in a new session");
  }
  co_return made;
}

Task<Result<std::shared_ptr<session::Session>>> Runtime::add_words(
    session::SessionId id, std::vector<session::Draft> drafts) {
  REEF_CO_TRY(auto session, co_await sessions_.open(id));
  const auto over = decisions_.closing(id, "the conversation went on without it");
  std::vector<session::Draft> all;
  for (const auto& one : over) all.push_back(Decisions::closed_draft(one));
  for (auto& draft : drafts) all.push_back(std::move(draft));
  if (const auto saved = co_await session->append(std::move(all)); !saved) co_return saved.error();
  for (const auto& one : over) decisions_.told(one);
  co_return session;
}

Task<Words> Runtime::preprocess(std::shared_ptr<Run> run, std::string key, Words words) const {
  co_return co_await hooks_.preprocess(run->agent_, key, std::move(words));
}

Task<Words> Runtime::preprocessed(Run& run, const session::Key& key, Words words) {
  auto work = preprocess(run.shared_from_this(), key.text(), words);
  auto out = co_await errands_.run(std::move(work), run.stop_);
  co_return out ? *std::move(out) : words;
}

Task<void> Runtime::keep_unanswered(session::Key key, const Run& run) {
  // Words between programs are not kept.
  if (run.message_.hidden || run.message_.ephemeral || run.message_.resumes ||
      !run.message_.lineage.parent.empty())
    co_return;
  const auto rest = run.rest_after_reset();
  if (rest && rest->empty()) co_return;
  std::vector<Words> words = {{rest ? *rest : run.message_.content}};
  // Whoever stops the daemon wants an answer after the next start; whoever cancelled it does not.
  Marks marks(1);
  if (run.message_.client) marks[0] = session::Marked{*run.message_.client, !draining_};
  const auto recorded = co_await record_user(key, run, std::move(words), marks, false);
  if (recorded && marks[0])
    sent_.kept(key, marks[0]->mark, (*recorded)->id(), marks[0]->unanswered);
  if (!recorded) {
    log::error("conversation {}: the message could not be saved: {}", key.text(),
               recorded.error().what);
  } else if (needs_.on_words) {
    needs_.on_words((*recorded)->id(), run.message_.content);
  }
}

// `/new` alone makes a new session and says so in fixed words; no model is asked.
Task<void> Runtime::start_over(session::Key key, Run& run) {
  auto& events = run.events_;
  session::Sessions::New request{key, run.host().name, run.message_.sender, run.message_.cwd, {}};
  if (run.message_.client) request.made_for = session::made_for(*run.message_.client);
  auto made = co_await sessions_.create(std::move(request));
  if (made && run.message_.client) note_kept(key, run, (*made)->id());
  if (!made) {
    events.fail(std::move(made).error().with("the new session could not be saved"));
    co_return;
  }
  const auto& id = (*made)->id().text();
  observe(key, run, id);
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

Task<void> Runtime::take_turn(Conversation& conversation, Run& run) {
  const auto key = conversation.key;
  auto& events = run.events_;
  const auto& agent = run.agent_;
  if (run.cancelled_) {
    co_await keep_unanswered(key, run);
    events.fail(Error(Errc::cancelled, "the message was cancelled before its turn came"));
    co_return;
  }
  const bool resumes = run.message_.resumes.has_value();
  const auto rest = run.message_.ephemeral || resumes ? std::nullopt : run.rest_after_reset();
  if (rest && rest->empty()) {
    co_await start_over(key, run);
    co_return;
  }
  std::vector<Words> words;
  Marks marks;
  const auto mark_of = [](const Message& message) {
    return message.client ? std::optional(session::Marked{*message.client}) : std::nullopt;
  };
  if (!resumes) {
    words.push_back({rest ? *rest : run.message_.content, run.message_.hidden});
    marks.push_back(mark_of(run.message_));
  }
  for (const auto& joined : run.joined_) {
    words.push_back({joined->message_.content, joined->message_.hidden});
    marks.push_back(mark_of(joined->message_));
  }
  std::vector<Words> kept;
  for (const auto& said : words) kept.push_back(co_await preprocessed(run, key, said));
  std::shared_ptr<session::Session> session;
  if (!run.message_.ephemeral) {
    auto recorded = resumes ? co_await reopen(key, run)
                            : co_await record_user(key, run, kept, marks, rest.has_value());
    if (!recorded && resumes) {
      events.fail(std::move(recorded).error());
      co_return;
    }
    if (!recorded) {
      log::error("conversation {}: the message could not be saved: {}", key.text(),
                 recorded.error().what);
      events.fail(std::move(recorded).error().with("the message could not be saved"));
      co_return;
    }
    session = *std::move(recorded);
    note_kept(key, run, session->id());
  }
  const auto id = session ? session->id()
                          : *session::SessionId::parse(fmt::format("ephemeral-{}", run.number_));
  bool hidden = !resumes || run.message_.hidden;
  for (const auto& one : words) {
    hidden = hidden && one.hidden;
    if (needs_.on_words && session && !one.hidden) needs_.on_words(id, one.text);
  }
  // A new message brings an archived session back.
  if (const auto* row = sessions_.find(id); session && row && row->flag("isArchived") && !hidden)
    sessions_.note(id, {{"isArchived", false}, {"archivedAt", nullptr}});
  observe(key, run, id.text());
  events.push(Start{agent.name});

  Turn turn{run, key, conversation, session, id};
  for (const auto& said : kept) turn.words += is_found(said) ? 1 : 0;
  if (!session) co_await save_all(turn, drafts_of(std::move(kept), clock_.now()), "message");
  auto& end = turn.end;
  end.agent = agent.name;
  if (session) end.session_id = id.text();
  end.hidden = hidden;

  // The session's choice is for its own agent; a guest uses the model of its own.
  const auto model = model_for(run.guest() ? nullptr : sessions_.find(id), agent);
  // Fallbacks are for the agent's own model, not for one that was chosen for the session.
  const auto fallback = model == agent.model ? agent.fallback : std::vector<std::string>();
  auto chain = candidates(run.setup_->providers, agent, model, fallback);
  if (!chain) {
    end.error = chain.error().what;
    end.code = chain.error().code;
    co_await offer_retry(turn);
    events.push(std::move(end));
    events.close();
    co_return;
  }
  turn.chain = *std::move(chain);
  co_await prepare(turn);

  if (!resumes || co_await finish_round(turn)) co_await take_steps(turn);
  co_await offer_retry(turn);
  end.silent = turn.silent && end.error.empty();
  if (!turn.silent) tell_held(turn);
  tell_compaction(turn);
  // Nobody was there to see the answer.
  if (session && turn.said_something && !turn.silent && !events.has_readers())
    sessions_.note(id, {{"hasUnread", true}});
  events.push(std::move(end));
  events.close();
}

// In a verbose session, says behind the answer that the context was compacted.
void Runtime::tell_compaction(Turn& turn) {
  const auto* row = turn.session ? sessions_.find(turn.id) : nullptr;
  const auto level = row ? row->text("verboseLevel") : std::string_view();
  if (!row || turn.end.hidden || turn.end.silent) return;
  // It was compacted in this turn, or by the policy after the turn before.
  if (untold_compactions_.erase(turn.id.text()) == 0) return;
  if (level != "on" && level != "full") return;
  auto& events = turn.run.events_;
  events.push(TextStart{turn.end.agent});
  events.push(
      Chunk{fmt::format("\n🧹 Auto-compaction complete (compactions: {})", row->compaction_count)});
  events.push(TextEnd{turn.end.agent});
}

void Runtime::tell_held(Turn& turn) {
  auto& events = turn.run.events_;
  for (auto& text : std::exchange(turn.held, {})) {
    events.push(TextStart{turn.end.agent});
    events.push(Chunk{std::move(text)});
    events.push(TextEnd{turn.end.agent, true});
  }
}

Task<void> Runtime::take_steps(Turn& turn) {
  auto& end = turn.end;
  const auto steps_max = turn.run.agent_.steps_max;
  for (;; ++turn.steps) {
    co_await take_steers(turn);
    if (!end.error.empty()) break;
    auto step = co_await ask_model(turn);
    turn.said_something = turn.said_something || step.said_something;
    if (step.calls.empty()) break;
    co_await call_tools(turn, std::move(step));
    if (turn.run.cancelled_) {
      end.error = "cancelled";
      end.code = Errc::cancelled;
      break;
    }
    if (!end.error.empty()) break;
    if (turn.steps + 1 == steps_max) {
      end.error = fmt::format("the agent took its {} steps and was not done", steps_max);
      end.code = Errc::too_large;
      break;
    }
  }
}

Task<void> Runtime::take_steers(Turn& turn) {
  auto& steers = turn.conversation.steers;
  auto& events = turn.run.events_;
  while (!steers.empty() && !turn.run.cancelled_) {
    const auto steer = std::move(steers.front());
    steers.pop_front();
    forget(*steer);
    const auto& words = steer->message_.content;
    Words said{words, steer->message_.hidden};
    const bool hidden = said.hidden;
    std::vector<Words> kept;
    kept.push_back(co_await preprocessed(turn.run, turn.key, std::move(said)));
    kept.back().hidden = hidden;
    turn.words += is_found(kept.back()) ? 1 : 0;
    Marks marks(1);
    if (const auto& client = steer->message_.client) marks[0] = session::Marked{*client};
    auto drafts = drafts_of(std::move(kept), clock_.now(), marks);
    if (const bool saved = co_await save_all(turn, std::move(drafts), "message"); !saved) {
      if (marks[0]) sent_.over(turn.key, marks[0]->mark);
      steer->events_.fail(Error(turn.end.code, turn.end.error));
      co_return;
    }
    if (marks[0] && turn.session) sent_.kept(turn.key, marks[0]->mark, turn.id);
    if (needs_.on_words && !hidden) needs_.on_words(turn.id, words);
    // The sender reads what happens from here on.
    const auto place = events.end();
    if (!hidden) events.push(UserSteered{words});
    steer->events_.push(Start{turn.run.agent_.name});
    steer->events_.go_on_in(turn.run.shared_events(), place);
  }
}

}  // namespace reef::runtime
