#include "runtime/compaction.h"

#include <algorithm>

#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>
#include <fmt/format.h>

#include "base/log.h"
#include "base/utf8.h"
#include "context/context.h"
#include "local/extract.h"
#include "model/complete.h"
#include "runtime/gauge.h"
#include "runtime/spent.h"

namespace reef::runtime {
namespace {

using session::Entry;
using session::MessagePtr;

// Assumed for models whose window is not known.
constexpr std::int64_t kWindowDefault = 128'000;
// The input of one call of a summariser as a share of its window, and the bytes of a token.
constexpr double kPieceShare = 0.4;
constexpr std::int64_t kTokenBytes = 3;
constexpr std::size_t kPieceBytesMin = 2000;
// Limit a summary made without a model, and the list of facts that a summary left out.
constexpr std::int64_t kExtractBytesMax = 8 << 10;
constexpr std::int64_t kFactsBytesMax = 8 << 10;
// A summary that somebody asked for may have this many tokens, whatever it replaces.
constexpr std::int64_t kSummaryTokensFree = 2'000;
// Compactions of one session that wait for another one.
constexpr std::size_t kWaitingMax = 8;

// How much of the window each part may have. A small window cannot hold back the usual reserve.
struct Budget {
  std::int64_t window = 0;
  context::CutLimits keep;
};
Budget budget_of(const Compaction& settings, std::int64_t window, std::int64_t window_max) {
  Budget out;
  out.window = window > 0 ? window : kWindowDefault;
  if (window_max > 0) out.window = std::min(out.window, window_max);
  const auto reserve = reserve_of(settings, out.window);
  out.keep.keep_recent = std::min(settings.keep_recent_tokens, (out.window - reserve) / 2);
  out.keep.keep_max = (out.window - reserve) * 3 / 4;
  return out;
}

std::vector<MessagePtr> messages_of(std::span<const Entry* const> entries) {
  std::vector<MessagePtr> out;
  for (const auto* entry : entries) {
    session::Context one;
    session::extend_context(one, *entry);
    for (const auto& item : one.items)
      if (auto message = session::for_model(item.message)) out.push_back(std::move(message));
  }
  return out;
}

std::int64_t tokens_of(const std::vector<MessagePtr>& messages) {
  std::int64_t sum = 0;
  for (const auto& message : messages) sum += context::estimate(*message);
  return sum;
}

const Entry* last_compaction(std::span<const Entry* const> branch) {
  for (std::size_t i = branch.size(); i > 0; --i)
    if (branch[i - 1]->type == "compaction") return branch[i - 1];
  return nullptr;
}

// Tokens of the context once the summary replaces what is before entry `first_kept`.
std::int64_t tokens_left(std::span<const Entry* const> branch, std::size_t first_kept,
                         const std::string& summary) {
  session::SummaryMessage message;
  message.summary = summary;
  return context::estimate(session::Message(std::move(message))) +
         tokens_of(messages_of(branch.subspan(first_kept)));
}

std::vector<context::Fact> known_facts(const Entry* compaction) {
  const auto* details = compaction ? json::find_object(compaction->body, "details") : nullptr;
  const auto* facts = details ? json::find_array(*details, "facts") : nullptr;
  return facts ? context::facts_from_json(*facts) : std::vector<context::Fact>();
}

json::object file_details(const context::Files& files) {
  json::array read, modified;
  for (const auto& path : files.only_read()) read.emplace_back(path);
  for (const auto& path : files.changed()) modified.emplace_back(path);
  return {{"readFiles", std::move(read)}, {"modifiedFiles", std::move(modified)}};
}

std::string without_facts(std::string_view summary) {
  auto end = summary.find(context::kFactsHeading);
  if (end == std::string_view::npos) end = summary.size();
  while (end > 0 && summary[end - 1] == '\n') --end;
  return std::string(summary.substr(0, end));
}

// Returns the newest lines of the old summary that fit, then what was said since.
std::string extractive(std::string_view previous, const std::vector<MessagePtr>& messages,
                       std::size_t bytes_max) {
  const auto since = local::summarise(messages, previous.empty() ? bytes_max : bytes_max / 2);
  auto kept = without_facts(previous);
  const auto room = bytes_max - std::min(bytes_max, since.size() + 1);
  if (kept.size() > room) {
    const auto line = kept.find('\n', kept.size() - room);
    kept = line == std::string::npos ? std::string() : kept.substr(line + 1);
  }
  return kept.empty() ? since : fmt::format("{}\n{}", kept, since);
}

// Calls the model once; the error says how the model failed.
Task<Result<std::string>> ask(const Candidate& candidate, context::SummaryRequest words,
                              std::int64_t tokens_max, session::Usage& spent) {
  model::Request request;
  request.model = candidate.route.model;
  request.system = context::summary_system();
  session::UserMessage message;
  message.content.push_back(session::TextBlock{context::summary_words(words)});
  request.messages.push_back(std::make_shared<const session::Message>(std::move(message)));
  request.max_tokens = tokens_max;
  const auto outcome = co_await model::complete(*candidate.route.provider, request);
  if (const auto* failure = std::get_if<model::Failure>(&outcome)) {
    using Kind = model::Failure::Kind;
    const auto code = failure->kind == Kind::context_overflow ? Errc::too_large
                      : failure->kind == Kind::cancelled      ? Errc::cancelled
                                                              : Errc::provider;
    co_return Error(code, model::describe(*failure, candidate.model));
  }
  const auto& reply = std::get<model::Reply>(outcome).message;
  add(spent, reply.usage);
  if (reply.stop_reason == session::StopReason::length)
    co_return Error(Errc::provider, "the summary was cut off: the model ran out of tokens");
  co_return session::text_of(reply.content);
}

// Summarises piece by piece; each call brings the summary so far up to date.
Task<Result<std::string>> summarise(const Candidate& candidate, const Compactions::Request& request,
                                    const Budget& budget, std::vector<MessagePtr> messages,
                                    std::string previous, bool part_of_turn,
                                    session::Usage& spent) {
  if (messages.empty()) co_return previous;
  const auto replaced = tokens_of(messages) * kTokenBytes;
  if (!candidate.route.provider->is_language_model()) {
    const auto bytes =
        static_cast<std::size_t>(std::clamp<std::int64_t>(replaced / 4, 200, kExtractBytesMax));
    co_return extractive(previous, messages, bytes + previous.size() / 2);
  }
  auto bytes = std::max(kPieceBytesMin,
                        static_cast<std::size_t>(kPieceShare * static_cast<double>(budget.window)) *
                            static_cast<std::size_t>(kTokenBytes));
  const auto tokens_max = std::max<std::int64_t>(1024, budget.window / 8);
  for (;; bytes /= 2) {
    Result<std::string> summary = previous;
    for (const auto& piece : context::as_text(messages, bytes)) {
      const auto so_far = *std::move(summary);
      const context::SummaryRequest words{piece, so_far, request.agent.prompt, request.instructions,
                                          part_of_turn};
      summary = co_await ask(candidate, words, tokens_max, spent);
      if (!summary) break;
    }
    // The window is smaller than assumed: try smaller pieces.
    const bool too_long = !summary && summary.error().code == Errc::too_large;
    if (!too_long || bytes / 2 < kPieceBytesMin) co_return summary;
  }
}

Error cancelled() {
  return Error(Errc::cancelled, "the compaction was cancelled");
}

// A program that asks by itself wants room, by whatever summary.
bool has_wishes(const Compactions::Request& request) {
  return !request.automatic && (request.keep || !request.instructions.empty());
}

bool same_wishes(const Compactions::Request& a, const Compactions::Request& b) {
  return has_wishes(a) == has_wishes(b) && a.keep == b.keep && a.instructions == b.instructions;
}

}  // namespace

Compactions::Compactions(Executor loop, session::Sessions& sessions, memory::Memories& memories,
                         Tasks* tasks)
    : loop_(std::move(loop)),
      sessions_(sessions),
      memories_(memories),
      listed_(tasks),
      tasks_(loop_, "compactions") {}

Result<std::shared_ptr<Compactions::Work>> Compactions::join(const Request& request) {
  if (stopping_) return cancelled();
  auto& line = lines_[request.session];
  if (line.empty()) {
    line.push_back(std::make_shared<Work>(loop_, request));
    begin(line);
    return line.front();
  }
  const auto first = line.front();
  if (!has_wishes(request)) return first->instead ? first->instead : first;
  for (const auto& work : line)
    if (!work->instead && same_wishes(work->request, request)) return work;
  if (line.size() > kWaitingMax)
    return Error(Errc::busy, fmt::format("{} compactions of session {} wait already", kWaitingMax,
                                         request.session.text()));
  auto work = std::make_shared<Work>(loop_, request);
  work->waited = true;
  if (!first->request.automatic || first->instead) {
    line.push_back(work);
    return work;
  }
  // Nobody asked for the first one, and its summary would be made without these wishes.
  line.insert(line.begin() + 1, work);
  work->waited = false;
  work->asked_for = first->asked_for;
  if (work->request.window_max == 0) work->request.window_max = first->request.window_max;
  first->instead = work;
  tasks_.cancel(first->task);
  return work;
}

void Compactions::begin(Line& line) {
  line.front()->task = tasks_.spawn(work_on(line.front()));
}

Task<Result<Compacted>> Compactions::compact(Request request) {
  for (;;) {
    REEF_CO_TRY(auto work, join(request));
    work->asked_for = work->asked_for || !request.for_turn;
    for (;;) {
      while (!work->outcome) co_await work->done.wait();
      const bool cancelled = !*work->outcome && work->outcome->error().code == Errc::cancelled;
      if (!cancelled || !work->instead) break;
      work = work->instead;
    }
    const auto& outcome = *work->outcome;
    const bool refused = !outcome && outcome.error().code == Errc::conflict;
    // A gain too small for an automatic compaction is enough for one that somebody asked for.
    if (refused && work->request.automatic && !request.automatic) continue;
    if (refused && work->waited)
      co_return Error(outcome.error()).with("after the compaction that was under way");
    co_return outcome;
  }
}

void Compactions::cancel(const session::SessionId& session) {
  const auto found = lines_.find(session);
  if (found != lines_.end()) tasks_.cancel(found->second.front()->task);
}

void Compactions::leave(const session::SessionId& session) {
  const auto found = lines_.find(session);
  if (found == lines_.end()) return;
  const auto& first = found->second.front();
  if (!first->asked_for) tasks_.cancel(first->task);
}

Task<void> Compactions::stop() {
  stopping_ = true;
  tasks_.cancel();
  co_await tasks_.join();
}

Task<void> Compactions::work_on(std::shared_ptr<Work> work) {
  using State = TaskInfo::State;
  const auto& id = work->request.session;
  std::unique_ptr<Tasks::Entry> entry;
  if (listed_) {
    TaskInfo info{"compaction", "compacts " + id.text()};
    info.agent = work->request.agent.name;
    info.session = id.text();
    entry = listed_->begin(std::move(info), [this, id] { cancel(id); });
  }
  Result<Compacted> outcome = cancelled();
  try {
    co_await yield_to_loop();
    outcome = co_await do_compact(work->request);
    if (outcome && told_) told_(id, work->request.agent, *outcome);
  } catch (const boost::system::system_error& error) {
    if (error.code() != boost::asio::error::operation_aborted)
      outcome = Error(Errc::internal, error.what());
  }
  if (entry)
    entry->end(outcome                                   ? State::done
               : outcome.error().code == Errc::cancelled ? State::cancelled
                                                         : State::failed);
  auto& line = lines_[id];
  line.pop_front();
  if (stopping_)
    for (const auto& waits : std::exchange(line, {})) {
      waits->outcome = cancelled();
      waits->done.notify_all();
    }
  if (line.empty()) {
    lines_.erase(id);
  } else {
    begin(line);
  }
  work->outcome = std::move(outcome);
  work->done.notify_all();
}

Task<Result<std::string>> Compactions::rewind(Request request, session::EntryId entry) {
  REEF_CO_TRY(const auto session, co_await sessions_.open(request.session));
  REEF_CO_TRY(const auto read, co_await sessions_.read(request.session));
  const auto to = read.branch(entry);
  if (to.empty())
    co_return Error(Errc::not_found,
                    fmt::format("no entry '{}' in session {}", utf8::excerpt(entry.text),
                                request.session.text()));
  const auto from = read.branch();
  std::size_t shared = 0;
  while (shared < from.size() && shared < to.size() && from[shared] == to[shared]) ++shared;
  const auto left = std::span<const Entry* const>(from).subspan(shared);
  auto messages = messages_of(left);
  if (messages.empty()) {
    REEF_CO_CHECK(co_await sessions_.rewind(request.session, std::move(entry)));
    co_return std::string();
  }
  const auto newest = [&] {
    const auto& items = session->context().items;
    return items.empty() ? session::EntryId() : items.back().id;
  };
  const auto seen = newest();

  const auto name = model_for(sessions_.find(request.session), request.agent);
  REEF_CO_TRY(auto route, request.setup->providers.route(name));
  const Candidate candidate{name, std::move(route)};
  const auto budget = budget_of(request.setup->compaction, candidate.route.facts.context_window, 0);
  session::Usage spent;
  auto summary =
      co_await summarise(candidate, request, budget, std::move(messages), {}, false, spent);
  if (!summary) co_return std::move(summary).error().with("the summary could not be made");
  if (const auto good = context::check_summary(*summary, INT64_MAX); !good)
    co_return Error(good.error());
  if (newest() != seen)
    co_return Error(Errc::conflict, "the conversation went on while it was being summarised");

  session::Draft draft{"branch_summary",
                       {{"fromId", from.back()->id.text},
                        {"summary", *summary},
                        {"details", file_details(context::files_of(left))}}};
  note_spent(draft, candidate, spent);
  const auto saved = co_await session->append(std::move(draft), std::move(entry));
  if (!saved) co_return Error(saved.error()).with("the summary could not be saved");
  co_return *std::move(summary);
}

Task<Result<Compacted>> Compactions::do_compact(const Request& request) {
  auto opened = co_await sessions_.open(request.session);
  if (!opened) co_return std::move(opened).error();
  const auto session = *std::move(opened);
  const auto read = co_await sessions_.read(request.session);
  if (!read) co_return read.error();
  const auto branch = read->branch();

  const auto* row = sessions_.find(request.session);
  const auto name = model_for(row, request.agent);
  auto route = request.setup->providers.route(name);
  if (!route) co_return std::move(route).error();
  const Candidate candidate{name, *std::move(route)};
  const auto budget = budget_of(request.setup->compaction, candidate.route.facts.context_window,
                                request.window_max);

  Compacted out;
  out.automatic = request.automatic;
  const auto context_before = session::build_context(branch);
  if (context_before.items.empty())
    co_return Error(Errc::conflict, "there is nothing to compact: the context is empty");
  const auto last_said = context_before.items.back().id;
  out.tokens_before = context::count(context_before).total;
  auto keep = budget.keep;
  if (request.keep) keep.keep_recent = std::min(*request.keep, keep.keep_max);
  auto cut = request.keep == 0 ? std::nullopt : context::choose_cut(branch, keep);
  if (!cut && !request.automatic) {
    keep.keep_recent = context::tokens_of_last_turn(branch);
    cut = context::choose_cut(branch, keep);
  }
  if (!cut)
    co_return Error(
        Errc::conflict,
        fmt::format("there is nothing to compact: the context has about {} tokens, and {} are kept "
                    "as they are",
                    out.tokens_before,
                    request.automatic ? fmt::format("the last {}", keep.keep_recent)
                                      : std::string("those of the last turn")));

  const std::span<const Entry* const> all(branch);
  const auto* before = last_compaction(branch);
  const std::string previous(before ? json::find_string(before->body, "summary").value_or("")
                                    : std::string_view());
  const auto history = messages_of(all.subspan(cut->begin, cut->turn_start - cut->begin));
  const auto prefix = messages_of(all.subspan(cut->turn_start, cut->first_kept - cut->turn_start));
  out.messages = history.size() + prefix.size();

  session::Usage spent;
  auto summary = co_await summarise(candidate, request, budget, history, without_facts(previous),
                                    false, spent);
  if (!summary) co_return std::move(summary).error().with("the summary could not be made");
  auto turn = co_await summarise(candidate, request, budget, prefix, {}, true, spent);
  if (!turn) co_return std::move(turn).error().with("the summary could not be made");
  out.summary = context::join_summaries(*std::move(summary), *turn);
  if (const auto good = context::check_summary(out.summary, INT64_MAX); !good)
    co_return Error(good.error());

  auto files = context::files_of(all.subspan(cut->begin, cut->first_kept - cut->begin));
  if (before) context::add_known(files, *before);
  auto replaced_messages = history;
  replaced_messages.insert(replaced_messages.end(), prefix.begin(), prefix.end());
  const auto facts = context::find_facts(replaced_messages, files, known_facts(before));
  session::SummaryMessage old;
  old.summary = previous;
  const auto replaced = tokens_of(replaced_messages) + context::estimate(session::Message(old));
  // The list may cost at most half of what the summary saves.
  session::SummaryMessage bare;
  bare.summary = out.summary;
  const auto won = replaced - context::estimate(session::Message(bare));
  out.summary = context::with_missing(
      std::move(out.summary), facts,
      static_cast<std::size_t>(std::clamp<std::int64_t>(won * 2, 0, kFactsBytesMax)));
  // A summary that somebody asked for may be longer than the few words it replaces.
  const auto limit = request.automatic ? replaced : std::max(replaced, kSummaryTokensFree);
  if (const auto good = context::check_summary(out.summary, limit); !good)
    co_return Error(good.error());

  // A rewind meanwhile may have left the entries that were to be kept; then this summary does not
  // belong to the branch. When nothing is kept, look for the last thing said instead: it may have
  // notes on the session behind it.
  const auto& items = session->context().items;
  const auto kept_message =
      std::find_if(branch.begin() + static_cast<std::ptrdiff_t>(cut->first_kept), branch.end(),
                   [](const Entry* entry) { return entry->type == "message"; });
  const auto landmark = kept_message != branch.end() ? (*kept_message)->id : last_said;
  if (std::none_of(items.begin(), items.end(),
                   [&](const auto& item) { return item.id == landmark; }))
    co_return Error(Errc::conflict, "the conversation was rewound while it was being summarised");

  out.archive = fmt::format("{}-{}", request.session.text(), row ? row->compaction_count + 1 : 1);
  const auto archived = co_await archive(request.agent.name, out.archive, out.summary);
  if (!archived) {
    log::warn("session {}: the summary could not be archived: {}", request.session.text(),
              archived.error().what);
    out.archive.clear();
  }

  auto details = file_details(files);
  details["facts"] = context::to_json(facts);
  session::Draft draft{"compaction",
                       {{"summary", out.summary},
                        {"tokensBefore", out.tokens_before},
                        {"tokensAfter", tokens_left(branch, cut->first_kept, out.summary)},
                        {"details", std::move(details)}}};
  // The field is absent when nothing is kept; pi reads it the same way.
  if (cut->first_kept < branch.size())
    draft.fields["firstKeptEntryId"] = branch[cut->first_kept]->id.text;
  if (!out.archive.empty()) draft.fields["archive"] = out.archive;
  note_spent(draft, candidate, spent);
  const auto saved = co_await session->append(std::move(draft));
  if (!saved) co_return Error(saved.error()).with("the compaction could not be saved");
  for (const auto& item : session->context().items)
    out.tokens_after += context::estimate(*item.message);
  log::info("session {}: compacted {} messages, about {} tokens to {}", request.session.text(),
            out.messages, out.tokens_before, out.tokens_after);
  co_return out;
}

Task<Status> Compactions::archive(std::string agent, std::string name, std::string summary) {
  REEF_CO_TRY(const auto memory, memories_.of(agent));
  // Overwrite the archive of an attempt that crashed before the transcript had it.
  auto done = co_await memory->apply(memory::Add{name, summary, {}, memory::Kind::archive, 0});
  if (!done && done.error().code == Errc::conflict)
    done = co_await memory->apply(memory::Write{name, summary, std::nullopt});
  if (!done) co_return std::move(done).error();
  co_return Ok{};
}

}  // namespace reef::runtime
