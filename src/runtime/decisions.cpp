#include "runtime/decisions.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/log.h"
#include "base/shield.h"
#include "base/utf8.h"

namespace reef::runtime {
namespace {

// Sessions whose decisions are kept in memory.
constexpr std::size_t kKnownMax = 256;
// How long an answer waits for a turn that goes on to ask again, or to be over.
constexpr std::chrono::seconds kResumeMax{20};
constexpr std::size_t kAnswerBytesMax = 64U << 10;

using session::SessionId;

std::string text_in(const json::object& in, std::string_view name) {
  return std::string(json::find_string(in, name).value_or(""));
}

session::Draft answered_draft(const Decisions::Reply& reply) {
  auto out = session::draft_decision(json::object{{"id", reply.id},
                                                  {"state", "answered"},
                                                  {"answer", reply.content},
                                                  {"by", reply.by},
                                                  {"from", reply.from}});
  if (reply.client) session::put_mark(out.fields, *reply.client);
  return out;
}

std::optional<Decision> asked_from(const json::object& data, const SessionId& session) {
  Decision out;
  out.id = text_in(data, "id");
  if (session::session_of_decision(out.id) != session) return std::nullopt;
  const auto kind = ask_kind_from(text_in(data, "kind"));
  if (!kind) return std::nullopt;
  out.ask.kind = *kind;
  if (const auto* questions = json::find_array(data, "questions"))
    out.ask.questions = questions_from(*questions);
  out.ask.nested = json::find_bool(data, "nested").value_or(false);
  out.session = session.text();
  out.agent = text_in(data, "agent");
  out.sender = text_in(data, "sender");
  out.call_id = text_in(data, "callId");
  out.plan = text_in(data, "plan");
  out.cwd = text_in(data, "cwd");
  if (const auto* tools = json::find_array(data, "onlyTools"))
    for (const auto& tool : *tools)
      if (tool.is_string()) out.only_tools.emplace_back(tool.get_string());
  if (const auto expires = parse_iso(text_in(data, "expiresAt"))) out.expires = *expires;
  return out;
}

void settle_from(Decision& out, const json::object& data, const session::Entry& entry) {
  const bool answered = json::find_string(data, "state") == "answered";
  out.state = answered ? Decision::State::answered : Decision::State::closed;
  out.answer = text_in(data, "answer");
  out.by = text_in(data, "by");
  out.from = text_in(data, "from");
  out.reason = text_in(data, "reason");
  out.settled = entry.time;
  if (auto marked = session::mark_of(entry.body)) out.client = std::move(marked->mark);
}

bool is_role(const session::Entry& entry, std::string_view role) {
  const auto* message = json::find_object(entry.body, "message");
  return message && json::find_string(*message, "role") == role;
}

// A failed turn is to go on.
bool tries_again(const Decision& decision, std::string_view content) {
  if (decision.ask.kind != Ask::Kind::failed || decision.ask.questions.empty()) return false;
  const auto answers = answers_from(decision.ask, content);
  const auto& options = decision.ask.questions[0].options;
  return answers[0].size() == 1 && !options.empty() && answers[0][0] == options.front().label;
}

Error settled_already(const Decision& decision) {
  return Error(Errc::conflict, fmt::format("decision {}: {}", decision.id, told_of(decision)));
}

}  // namespace

std::string_view name_of(Decision::State state) {
  constexpr std::string_view kNames[] = {"pending", "answered", "closed"};
  return kNames[static_cast<std::size_t>(state)];
}

std::string told_of(const Decision& decision) {
  const auto at = decision.settled ? format_iso(*decision.settled) : std::string("some time");
  if (decision.state == Decision::State::answered)
    return fmt::format("{} answered '{}' over {} at {}", utf8::excerpt(decision.by),
                       utf8::excerpt(utf8::single_line(decision.answer), 200), decision.from, at);
  return fmt::format("it was closed at {}: {}", at, decision.reason);
}

std::vector<Decision> decisions_in(const session::Transcript& transcript, const SessionId& id) {
  std::vector<Decision> out;
  std::map<std::string, std::size_t> places;
  for (const auto& entry : transcript.entries()) {
    const auto* data = session::decision_of(entry);
    if (!data) continue;
    if (json::find_string(*data, "state") == "asked") {
      auto asked = asked_from(*data, id);
      if (!asked || places.contains(asked->id)) continue;
      asked->asked = entry.time;
      places[asked->id] = out.size();
      out.push_back(*std::move(asked));
      continue;
    }
    const auto found = places.find(text_in(*data, "id"));
    // The first one counts.
    if (found != places.end() && out[found->second].state == Decision::State::pending)
      settle_from(out[found->second], *data, entry);
  }
  return out;
}

std::string why_over(const session::Transcript& transcript, const Decision& decision,
                     TimePoint now) {
  if (decision.expires && *decision.expires <= now) return "nobody answered in time";
  if (decision.ask.nested) return "the delegated work that asked ended with the daemon";
  bool found = false;
  for (const auto* entry : transcript.branch()) {
    if (const auto* data = session::decision_of(*entry);
        data && json::find_string(*data, "id") == decision.id)
      found = true;
    if (!found) continue;
    const bool plan = decision.ask.kind == Ask::Kind::plan;
    const auto* message = json::find_object(entry->body, "message");
    if (is_role(*entry, "user") || (!plan && is_role(*entry, "assistant")))
      return "the conversation went on without it";
    if (!plan && entry->type == "compaction") return "the conversation was compacted past it";
    if (message && !decision.call_id.empty() && !plan && is_role(*entry, "toolResult") &&
        json::find_string(*message, "toolCallId") == decision.call_id)
      return "the call has its result";
  }
  return found ? "" : "the conversation was taken back to before it";
}

Decisions::Decisions(Executor loop, session::Sessions& sessions, Clock& clock, Questions& questions,
                     Needs needs)
    : loop_(loop),
      sessions_(sessions),
      clock_(clock),
      questions_(questions),
      needs_(std::move(needs)),
      changed_(loop),
      tasks_(loop, "decisions") {}

std::string Decisions::new_id(const SessionId& session) {
  const auto now = fmt::format("{}", clock_.now().time_since_epoch().count());
  const auto mark =
      session::fingerprint({session.text(), now, fmt::format("{}", ++asked_)}).substr(0, 8);
  return session::decision_id(session, session::EntryId{mark});
}

session::Draft Decisions::asked_draft(const Decision& decision) {
  const auto& ask = decision.ask;
  std::string about = decision.plan;
  if (about.empty() && !ask.questions.empty()) about = ask.questions.front().text;
  json::object data{{"id", decision.id},
                    {"state", "asked"},
                    {"kind", name_of(ask.kind)},
                    {"about", utf8::prefix(about, 400)},
                    {"agent", decision.agent},
                    {"sender", decision.sender},
                    {"questions", to_json(ask.questions)}};
  if (!decision.call_id.empty()) data["callId"] = decision.call_id;
  if (decision.expires) data["expiresAt"] = format_iso(*decision.expires);
  if (!decision.plan.empty()) data["plan"] = decision.plan;
  if (!decision.cwd.empty()) data["cwd"] = decision.cwd;
  if (ask.nested) data["nested"] = true;
  if (!decision.only_tools.empty()) {
    json::array tools;
    for (const auto& tool : decision.only_tools) tools.emplace_back(tool);
    data["onlyTools"] = std::move(tools);
  }
  return session::draft_decision(std::move(data));
}

void Decisions::told(const Decision& decision) {
  for (const auto& tell : on_change_) tell(decision);
  changed_.notify_all();
}

Task<Status> Decisions::ask(std::shared_ptr<session::Session> session, Decision decision) {
  const auto saved = co_await session->append(asked_draft(decision));
  if (!saved) co_return saved.error();
  told(decision);
  co_return Ok{};
}

std::vector<Decision> Decisions::closing(const SessionId& session, std::string_view reason) const {
  std::vector<Decision> out;
  const auto* row = sessions_.find(session);
  if (!row) return out;
  for (const auto& one : row->waiting) {
    Decision over;
    over.id = one.id;
    over.ask.kind = ask_kind_from(one.kind).value_or(Ask::Kind::question);
    over.agent = std::string(row->agent());
    over.sender = std::string(row->sender());
    over.key = std::string(row->key());
    over.session = session.text();
    over.asked = one.asked;
    over.state = Decision::State::closed;
    over.reason = std::string(reason);
    over.settled = clock_.now();
    out.push_back(std::move(over));
  }
  return out;
}

session::Draft Decisions::closed_draft(const Decision& decision) {
  return session::draft_decision(
      json::object{{"id", decision.id}, {"state", "closed"}, {"reason", decision.reason}});
}

Task<Status> Decisions::append(SessionId id, std::vector<session::Draft> drafts) {
  REEF_CO_TRY(const auto session, co_await sessions_.open(std::move(id)));
  const auto saved = co_await session->append(std::move(drafts));
  if (!saved) co_return saved.error();
  co_return Ok{};
}

Task<void> Decisions::close(SessionId session, std::vector<std::string> ids, std::string reason) {
  auto over = closing(session, reason);
  std::erase_if(over, [&](const Decision& one) {
    return answering_.contains(one.id) || std::find(ids.begin(), ids.end(), one.id) == ids.end();
  });
  if (over.empty()) co_return;
  std::vector<session::Draft> drafts;
  for (const auto& one : over) drafts.push_back(closed_draft(one));
  const auto done = co_await shielded(append(session, std::move(drafts)));
  if (!done) {
    log::warn("session {}: {} decision(s) could not be closed: {}", session.text(), over.size(),
              done.error().what);
    co_return;
  }
  for (const auto& one : over) told(one);
}

void Decisions::trim() {
  while (known_.size() > kKnownMax) {
    const auto oldest = std::min_element(
        known_.begin(), known_.end(),
        [](const auto& a, const auto& b) { return a.second.used < b.second.used; });
    known_.erase(oldest);
  }
}

Task<Result<const Decisions::Known*>> Decisions::look(SessionId id) {
  const auto* row = sessions_.find(id);
  if (!row) co_return session::no_session(id);
  const auto cached = known_.find(id.text());
  if (cached == known_.end() || cached->second.bytes != row->bytes) {
    const auto bytes = row->bytes;
    REEF_CO_TRY(const auto transcript, co_await sessions_.read(id));
    Known known;
    known.bytes = bytes;
    known.decisions = decisions_in(transcript, id);
    for (const auto& one : known.decisions)
      if (one.state == Decision::State::pending)
        // Time is looked at when somebody asks.
        if (auto why = why_over(transcript, one, TimePoint()); !why.empty())
          known.over[one.id] = std::move(why);
    known.used = ++uses_;
    known_[id.text()] = std::move(known);
    trim();
  }
  auto& known = known_[id.text()];
  known.used = ++uses_;
  row = sessions_.find(id);
  for (auto& one : known.decisions) {
    if (row) one.key = std::string(row->key());
    if (one.state == Decision::State::pending && one.expires && *one.expires <= clock_.now() &&
        !questions_.find(one.id))
      known.over[one.id] = "nobody answered in time";
  }
  co_return &known;
}

Task<Result<Decision>> Decisions::find(std::string id) {
  const auto session = session::session_of_decision(id);
  if (session && sessions_.find(*session)) {
    REEF_CO_TRY(const auto* known, co_await look(*session));
    for (const auto& one : known->decisions)
      if (one.id == id) co_return one;
  }
  co_return Error(Errc::not_found, fmt::format("no decision '{}'", utf8::excerpt(id, 200)));
}

Task<Result<std::optional<Decision>>> Decisions::shown(std::string id) {
  const auto session = session::session_of_decision(id);
  if (!session || !sessions_.find(*session)) co_return std::optional<Decision>();
  REEF_CO_TRY(const auto* known, co_await look(*session));
  const auto* row = sessions_.find(*session);
  for (const auto& one : known->decisions) {
    if (one.id != id) continue;
    if (one.state != Decision::State::pending) co_return std::optional(one);
    const bool over = known->over.contains(id) && !questions_.find(id);
    const bool listed = row && std::any_of(row->waiting.begin(), row->waiting.end(),
                                           [&](const auto& waits) { return waits.id == id; });
    co_return listed && !over ? std::optional(one) : std::nullopt;
  }
  co_return std::optional<Decision>();
}

std::vector<std::string> Decisions::expired_in(const SessionId& session) const {
  std::vector<std::string> out;
  const auto* row = sessions_.find(session);
  for (const auto& one : row ? row->waiting : std::vector<session::Waiting>())
    if (one.expires != TimePoint() && one.expires <= clock_.now() && !questions_.find(one.id))
      out.push_back(one.id);
  return out;
}

Task<std::optional<std::vector<std::string>>> Decisions::close_over(SessionId session) {
  std::vector<std::string> left;
  if (needs_.busy(session)) co_return std::nullopt;
  const auto known = co_await look(session);
  std::map<std::string, std::vector<std::string>> over;  // by the reason
  if (known)
    for (const auto& one : (*known)->decisions)
      if (const auto why = (*known)->over.find(one.id); one.state == Decision::State::pending &&
                                                        why != (*known)->over.end() &&
                                                        !questions_.find(one.id))
        over[why->second].push_back(one.id);
  const auto* row = sessions_.find(session);
  // Lists leave out what cannot be read.
  if (!known && row)
    for (const auto& one : row->waiting) left.push_back(one.id);
  for (auto& [reason, ids] : over) {
    left.insert(left.end(), ids.begin(), ids.end());
    co_await close(session, std::move(ids), reason);
  }
  row = sessions_.find(session);
  std::erase_if(left, [&](const std::string& id) {
    return row && std::none_of(row->waiting.begin(), row->waiting.end(),
                               [&](const auto& one) { return one.id == id; });
  });
  co_return left;
}

Task<Result<Decisions::Page>> Decisions::list(Query query) {
  Page page;
  const auto limit = query.limit == 0 || query.limit > kPageMax ? kPageMax : query.limit;
  if (query.history) {
    REEF_CO_TRY(auto id, SessionId::parse(query.session));
    REEF_CO_TRY(const auto* known, co_await look(std::move(id)));
    std::size_t skip = 0;
    const auto& cursor = query.cursor;
    const auto [end, failed] = std::from_chars(cursor.data(), cursor.data() + cursor.size(), skip);
    if (!cursor.empty() && (failed != std::errc() || end != cursor.data() + cursor.size()))
      co_return Error(Errc::invalid,
                      fmt::format("'{}' is not a cursor of a history", utf8::excerpt(cursor)));
    const auto& all = known->decisions;
    page.total = all.size();
    for (auto at = std::min(skip, all.size()); at < all.size() && page.decisions.size() < limit;
         ++at)
      page.decisions.push_back(all[all.size() - 1 - at]);
    if (skip + page.decisions.size() < all.size())
      page.cursor = fmt::format("{}", skip + page.decisions.size());
    co_return page;
  }
  // Newest first; the place of the last one shown leads on, whatever came meanwhile.
  struct Place {
    std::string place;
    std::string id;
    SessionId session;
  };
  std::vector<Place> places;
  for (const auto& waits : sessions_.waiting()) {
    const auto* found = sessions_.find(waits);
    if (!found) continue;
    const auto& row = *found;
    if (!query.session.empty() && row.id.text() != query.session) continue;
    if (!query.agent.empty() && row.agent() != query.agent) continue;
    if (!query.sender.empty() && row.sender() != query.sender) continue;
    for (const auto& one : row.waiting) {
      const auto kind = ask_kind_from(one.kind);
      if (!kind || (!query.kinds.empty() && !query.kinds.contains(*kind))) continue;
      places.push_back({fmt::format("{:020}/{}", unix_millis(one.asked), one.id), one.id, row.id});
    }
  }
  std::sort(places.begin(), places.end(),
            [](const Place& a, const Place& b) { return a.place > b.place; });
  page.total = places.size();
  std::map<SessionId, std::map<std::string, std::vector<std::string>>> over;
  for (const auto& place : places) {
    if (!query.cursor.empty() && place.place >= query.cursor) continue;
    if (page.decisions.size() >= limit) break;
    const auto known = co_await look(place.session);
    // Gone meanwhile, or a disk that cannot be read: the others are told all the same.
    if (!known) {
      log::warn("session {}: {}", place.session.text(), known.error().what);
      continue;
    }
    page.cursor = place.place;
    for (const auto& one : (*known)->decisions) {
      if (one.id != place.id || one.state != Decision::State::pending) continue;
      const auto why = (*known)->over.find(one.id);
      if (why != (*known)->over.end() && !questions_.find(one.id)) {
        over[place.session][why->second].push_back(one.id);
        --page.total;
      } else {
        page.decisions.push_back(one);
      }
    }
  }
  if (page.decisions.size() < limit || (!places.empty() && page.cursor == places.back().place))
    page.cursor.clear();
  for (auto& [session, reasons] : over)
    for (auto& [reason, ids] : reasons)
      if (!needs_.busy(session)) tasks_.spawn(close(session, std::move(ids), reason));
  co_return page;
}

std::optional<std::string> Decisions::oldest(const SessionId& session) const {
  if (const auto* row = sessions_.find(session))
    for (const auto& one : row->waiting)
      if (one.kind == name_of(Ask::Kind::question) || one.kind == name_of(Ask::Kind::permission))
        return one.id;
  return std::nullopt;
}

Task<Result<Decision>> Decisions::answer(Reply reply) {
  co_return co_await shielded(answer_unshielded(std::move(reply)));
}

Task<Result<std::optional<Decision>>> Decisions::wait_until_live(const Decision& decision) {
  const auto deadline = steady_now(loop_) + kResumeMax;
  REEF_CO_TRY(const auto session, SessionId::parse(decision.session));
  while (!questions_.find(decision.id)) {
    REEF_CO_TRY(auto now, co_await find(decision.id));
    if (now.state != Decision::State::pending) co_return std::optional(std::move(now));
    if (questions_.find(decision.id)) break;
    if (!needs_.busy(session))
      co_return Error(Errc::unavailable, "the turn that asks ended before it asked again");
    if (steady_now(loop_) >= deadline)
      co_return Error(Errc::busy, "the turn that asks is not there yet; try again");
    // Also when the turn ends, which is not told here.
    constexpr std::chrono::milliseconds kLookAgain{50};
    co_await questions_.wait_for_change(std::min(deadline, steady_now(loop_) + kLookAgain));
  }
  co_return std::optional<Decision>();
}

Task<Result<Decision>> Decisions::answer_unshielded(Reply reply) {
  if (utf8::single_line(reply.content).empty())
    co_return Error(Errc::invalid, "the answer is empty");
  if (reply.content.size() > kAnswerBytesMax)
    co_return Error(Errc::too_large, fmt::format("the answer has {} bytes; at most {} are possible",
                                                 reply.content.size(), kAnswerBytesMax));
  // The first of two answers at the same time counts, unless it could not be written.
  while (answering_.contains(reply.id)) co_await changed_.wait();
  answering_.insert(reply.id);
  struct Answering {
    Decisions& all;
    const std::string id;
    ~Answering() {
      all.answering_.erase(id);
      all.changed_.notify_all();
    }
  } const answering{*this, reply.id};

  REEF_CO_TRY(auto decision, co_await find(reply.id));
  const auto ended = [&](Decision by_then) -> Result<Decision> {
    const bool same = reply.client && by_then.client && by_then.client->id == reply.client->id &&
                      by_then.client->sender == reply.client->sender;
    if (same && by_then.answer == reply.content) return by_then;
    return settled_already(by_then);
  };
  if (decision.state != Decision::State::pending) co_return ended(std::move(decision));
  const auto kind = decision.ask.kind;
  const bool waited_for = kind == Ask::Kind::question || kind == Ask::Kind::permission;
  REEF_CO_TRY(const auto session, SessionId::parse(decision.session));
  if (!questions_.find(decision.id)) {
    if (!needs_.busy(session)) {
      REEF_CO_TRY(const auto* known, co_await look(session));
      if (const auto why = known->over.find(decision.id); why != known->over.end()) {
        auto reason = why->second;
        answering_.erase(reply.id);
        co_await close(session, {reply.id}, reason);
        co_return Error(Errc::conflict, fmt::format("decision {} cannot be answered any more: {}",
                                                    reply.id, reason));
      }
      if (waited_for) REEF_CO_CHECK(needs_.resume(decision));
    } else if (kind == Ask::Kind::failed) {
      co_return Error(Errc::busy, "something runs in the conversation; wait, or reef kill");
    }
    if (tries_again(decision, reply.content)) REEF_CO_CHECK(needs_.may_resume(decision));
    if (waited_for) {
      REEF_CO_TRY(auto over, co_await wait_until_live(decision));
      if (over) co_return ended(*std::move(over));
    }
  }
  co_return co_await settle(std::move(decision), std::move(reply));
}

Task<Result<Decision>> Decisions::settle(Decision decision, Reply reply) {
  REEF_CO_TRY(auto session, SessionId::parse(decision.session));
  questions_.hold(decision.id, true);
  const auto written = co_await append(std::move(session), {answered_draft(reply)});
  questions_.hold(decision.id, false);
  if (!written) co_return Error(written.error()).with("the answer could not be saved");
  decision.state = Decision::State::answered;
  decision.answer = reply.content;
  decision.by = reply.by;
  decision.from = reply.from;
  decision.client = reply.client;
  decision.settled = clock_.now();
  log::info("decision {}: {}", decision.id, told_of(decision));
  // The turn may have been cancelled meanwhile; the answer is history then.
  if (questions_.find(decision.id))
    static_cast<void>(questions_.answer(decision.id, reply.content));
  told(decision);
  if (tries_again(decision, reply.content))
    if (const auto resumed = needs_.resume(decision); !resumed)
      log::warn("decision {}: {}", decision.id, resumed.error().what);
  co_return decision;
}

Task<void> Decisions::stop() {
  co_await tasks_.join();
}

}  // namespace reef::runtime
