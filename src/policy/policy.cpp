#include "policy/policy.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/log.h"

namespace reef::policy {
namespace {

using client::Client;
using namespace std::chrono_literals;

// How many sessions are handled side by side; each may wait for a model.
constexpr std::size_t kAttendedMax = 4;
// A changed override of a session is noticed after this time at the latest.
constexpr auto kSeenFor = 60s;
constexpr std::size_t kSeenMax = 4096;
constexpr auto kFirstPause = 100ms;
constexpr auto kLongestPause = 10s;
constexpr auto kTidyEvery = std::chrono::hours(1);
constexpr std::uint32_t kCatchUp = 50;  // sessions looked at after events were missed
constexpr std::uint32_t kArchivePage = 200;
// A model may take its time for a summary.
constexpr std::chrono::milliseconds kWorkPatience = 15min;

}  // namespace

Policy::Policy(Executor loop, Clock& clock, client::Endpoint endpoint, std::function<Rules()> rules)
    : loop_(loop),
      clock_(clock),
      rules_(std::move(rules)),
      client_(loop, std::move(endpoint), client::Options{.name = "policy"}),
      tasks_(loop, "policy") {}

void Policy::start() {
  tasks_.spawn(watch());
  tasks_.spawn(tidy());
}

Task<void> Policy::stop() {
  tasks_.cancel();
  co_await tasks_.join();
  client_.close();
}

Task<void> Policy::watch() {
  co_await yield_to_loop();
  auto pause = std::chrono::milliseconds(kFirstPause);
  for (;;) {
    const auto began = steady_now(loop_);
    const auto ended = co_await listen();
    if (!ended) log::debug("policy: {}", ended.error().what);
    // A connection that lasted was a good one.
    pause = steady_now(loop_) - began > kLongestPause
                ? std::chrono::milliseconds(kFirstPause)
                : std::min<std::chrono::milliseconds>(pause * 2, kLongestPause);
    co_await sleep_for(pause);
  }
}

Task<Status> Policy::listen() {
  protocol::ClientMessage subscribe;
  subscribe.mutable_subscribe_events()->add_kinds(protocol::AGENT_EVENT_KIND_DONE);
  REEF_CO_TRY(auto events, co_await client_.open(std::move(subscribe)));
  for (;;) {
    REEF_CO_TRY(auto message, co_await events.next());
    if (!message) co_return Ok{};
    if (message->has_agent_event()) co_await take(std::move(*message->mutable_agent_event()));
  }
}

Task<void> Policy::take(protocol::AgentEvent event) {
  if (event.missed() > 0) {
    // Nobody knows which turns were missed; the newest sessions are the likeliest.
    protocol::ListSessions query;
    query.set_limit(kCatchUp);
    if (const auto newest = co_await client_.sessions(std::move(query)))
      for (const auto& row : newest->sessions()) want(row.id());
  }
  if (event.hidden() || event.failed() || event.session_id().empty()) co_return;
  const auto seen = seen_.find(event.session_id());
  if (seen != seen_.end() && event.has_context() &&
      event.context().tokens() < seen->second.quiet_below &&
      steady_now(loop_) - seen->second.when < kSeenFor)
    co_return;
  want(event.session_id());
}

void Policy::want(const std::string& session) {
  wanted_.insert(session);
  if (attended_.size() >= kAttendedMax || attended_.contains(session)) return;
  attended_.insert(session);
  tasks_.spawn(attend(session));
}

Task<void> Policy::attend(std::string session) {
  co_await yield_to_loop();
  for (;;) {
    wanted_.erase(session);
    if (const auto looked = co_await look(session); !looked)
      log::warn("policy: session {}: {}", session, looked.error().what);
    if (wanted_.contains(session)) continue;
    attended_.erase(session);
    // Goes on with a session that had to wait for its turn.
    const auto next = std::find_if(wanted_.begin(), wanted_.end(),
                                   [&](const auto& id) { return !attended_.contains(id); });
    if (next == wanted_.end()) co_return;
    session = *next;
    attended_.insert(session);
  }
}

Task<Status> Policy::look(std::string session) {
  const auto node = rules_();
  REEF_CO_TRY(auto found, co_await survey(client_, session, node));
  for (const auto& problem : found.problems) log::warn("policy: session {}: {}", session, problem);
  if (seen_.size() >= kSeenMax) seen_.clear();
  auto& before = seen_[session];
  found.facts.refused_at = before.refused_at;

  auto plan = decide(found.rules, found.facts);
  if (plan.title.act) {
    REEF_CO_CHECK(co_await title(found, std::move(plan.title.why)));
    found.facts.titled = true;
  }
  if (plan.flush.act) {
    REEF_CO_CHECK(co_await flush(found, std::move(plan.flush.why)));
    REEF_CO_TRY(found, co_await survey(client_, session, node));
    found.facts.refused_at = seen_[session].refused_at;
    plan = decide(found.rules, found.facts);
  }
  if (plan.compact.act) {
    const auto done = co_await compact(found, std::move(plan.compact.why));
    auto& seen = seen_[session];
    // A compaction that would not shrink the context is not asked for again after every turn.
    seen.refused_at = done ? 0 : found.facts.tokens;
    if (!done) co_return done;
    REEF_CO_TRY(found, co_await survey(client_, session, node));
  }
  auto& seen = seen_[session];
  const auto at = limits(found.rules, found.facts.window);
  const bool nothing_else = found.facts.titled || !found.rules.title;
  seen.when = steady_now(loop_);
  seen.quiet_below = nothing_else ? std::min(at.flush, at.compact) : 0;
  co_return Ok{};
}

Task<Status> Policy::title(const Survey& survey, std::string why) {
  protocol::ClientMessage message;
  message.mutable_generate_title()->set_id(survey.id);
  REEF_CO_CHECK(co_await client_.request(std::move(message), Client::Repeat::safe, kWorkPatience));
  log::info("policy: session {}: title: {}", survey.id, why);
  co_return Ok{};
}

Task<Status> Policy::flush(const Survey& survey, std::string why) {
  // A message goes to the conversation, which may have another session by now.
  protocol::ClientMessage ask;
  ask.mutable_describe_session()->set_agent(survey.agent);
  ask.mutable_describe_session()->set_key(survey.key);
  REEF_CO_TRY(const auto current,
              co_await client_.request(std::move(ask), Client::Repeat::safe, kAnswerPatience));
  if (current.session_description().session().id() != survey.id) co_return Ok{};
  log::info("policy: session {}: flush: {}", survey.id, why);
  protocol::ClientMessage message;
  auto& send = *message.mutable_send();
  send.set_agent(survey.agent);
  send.set_sender(survey.sender);
  send.set_key(survey.key);
  send.set_content(survey.rules.flush_prompt.empty() ? std::string(kFlushPrompt)
                                                     : survey.rules.flush_prompt);
  send.set_hidden(true);
  send.set_context(survey.rules.flush_system_prompt);
  // With these tools it may run in any mode, because it can only write notes.
  for (const auto* tool : {"recall", "remember", "forget"}) send.add_only_tools(tool);
  const auto answer =
      co_await client_.request(std::move(message), Client::Repeat::never, kWorkPatience);
  // The mark is set even after a failure, because a flush that fails now would fail after every
  // turn. The next compaction allows another.
  if (!answer) log::warn("policy: session {}: flush: {}", survey.id, answer.error().what);

  protocol::ClientMessage mark;
  auto& patch = *mark.mutable_patch_session();
  patch.set_id(survey.id);
  const auto now =
      std::chrono::duration_cast<std::chrono::milliseconds>(clock_.now().time_since_epoch());
  patch.set_patch(json::write(json::object{
      {"memoryFlushAt", now.count()}, {"memoryFlushCompactionCount", survey.facts.compactions}}));
  REEF_CO_CHECK(co_await client_.change_session(std::move(mark)));
  co_return Ok{};
}

Task<Status> Policy::compact(const Survey& survey, std::string why) {
  log::info("policy: session {}: compact: {}", survey.id, why);
  protocol::ClientMessage message;
  message.mutable_compact()->set_session_id(survey.id);
  message.mutable_compact()->set_automatic(true);
  REEF_CO_TRY(const auto answer,
              co_await client_.request(std::move(message), Client::Repeat::never, kWorkPatience));
  log::info("policy: session {}: compacted: {} tokens became {}", survey.id,
            answer.compact().tokens_before(), answer.compact().tokens_after());
  co_return Ok{};
}

Task<void> Policy::tidy() {
  co_await yield_to_loop();
  for (;;) {
    if (const auto days = rules_().archive_days; days > 0)
      if (const auto done = co_await archive_stale(days); !done)
        log::warn("policy: archive: {}", done.error().what);
    co_await sleep_for(kTidyEvery);
  }
}

Task<Status> Policy::archive_stale(std::int64_t days) {
  protocol::ListSessions query;
  query.set_before(format_iso(clock_.now() - std::chrono::hours(24 * days)));
  query.set_archived(false);
  query.set_flagged(false);
  query.set_limit(kArchivePage);
  for (;;) {
    REEF_CO_TRY(const auto stale, co_await client_.sessions(query));
    for (const auto& row : stale.sessions()) {
      protocol::ClientMessage message;
      auto& patch = *message.mutable_patch_session();
      patch.set_id(row.id());
      patch.set_patch(R"({"isArchived":true})");
      REEF_CO_CHECK(co_await client_.change_session(std::move(message)));
      log::info("policy: session {}: archived: nothing was said since {}, {} days allowed",
                row.id(), row.updated_at(), days);
    }
    if (stale.cursor().empty()) co_return Ok{};
    query.set_cursor(stale.cursor());
  }
}

}  // namespace reef::policy
