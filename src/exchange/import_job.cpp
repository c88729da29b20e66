#include "exchange/import_job.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/log.h"
#include "base/utf8.h"
#include "exchange/id_table.h"
#include "exchange/places.h"
#include "exchange/staging.h"

namespace reef::exchange {
namespace {

constexpr int kWorkers = 2;
// Sessions are synced and moved in together when there are this many of them, or of their bytes.
constexpr std::size_t kWaitingMax = 512;
constexpr std::uint64_t kWaitingBytesMax = 32U << 20;
constexpr std::uint64_t kPieceBytes = 1U << 20;
constexpr std::size_t kProblemsMax = 10'000;
constexpr std::size_t kMarksMax = 8;
constexpr std::size_t kDirectoriesMax = 1'000;
constexpr unsigned kIdAttemptsMax = 10'000;

std::string claim_of(const Head& head) {
  return head.origin + '\n' + head.path;
}

std::string claim_of(const Definition& definition) {
  // Each agent may have a note of the same name.
  const auto agent = json::find_string(definition.body, "agent").value_or("");
  return fmt::format("{}\n\n{}\n{}", static_cast<int>(definition.kind), definition.name, agent);
}

// Looks in the pieces of a transcript for the origin it names: the last one counts.
class OriginSearch {
 public:
  void take(std::string_view piece) {
    held_ += piece;
    std::size_t from = 0;
    for (auto end = held_.find('\n'); end != std::string::npos; end = held_.find('\n', from)) {
      look(std::string_view(held_).substr(from, end - from));
      from = end + 1;
    }
    held_.erase(0, from);
  }
  const std::optional<std::string>& origin() const { return origin_; }

 private:
  void look(std::string_view line) {
    if (line.find(session::kMetaType) == std::string_view::npos) return;
    auto parsed = json::parse_lenient(line);
    if (!parsed || !parsed->is_object()) return;
    const auto entry = session::entry_from(std::move(parsed->get_object()));
    const auto* meta = entry ? session::meta_of(*entry) : nullptr;
    if (!meta) return;
    if (const auto found = json::find_string(*meta, "origin")) origin_ = std::string(*found);
  }

  std::string held_;  // of a line that is not whole yet
  std::optional<std::string> origin_;
};

Task<void> run_on(Pool& pool, std::function<Status()> work, Status& outcome) {
  try {
    outcome = co_await pool.run(work);
  } catch (const std::exception& error) {
    outcome = Error(Errc::internal, error.what());
  }
}

}  // namespace

ImportJob::ImportJob(ImportNeeds& needs, ImportRequest what)
    : request(std::move(what)),
      needs_(needs),
      changed_(needs.loop),
      questions_(needs.loop, "import") {}

std::string ImportJob::staging_folder() {
  return fmt::format("{}/{}", staging_of(needs_.home), ++folders_);
}

// ---- the loop's half ----

Task<void> ImportJob::run() {
  const auto quiet = needs_.quiet ? needs_.quiet() : nullptr;
  if (const auto page = needs_.sessions.list(session::Query{}))
    for (const auto* row : page->rows)
      if (const auto origin = row->text("origin"); !origin.empty())
        ids_.insert_or_assign(std::string(origin), row->id);
  std::vector<session::Trashed> trashed;
  if (auto there = co_await needs_.transcripts.trashed()) trashed = *std::move(there);
  for (const auto& session : trashed) taken_.insert(session.id.text());

  Status prepared = Ok{};
  co_await run_on(
      needs_.pool, [&] { return find_trashed(trashed); }, prepared);
  const auto stat = needs_.files.stat_path(request.path);
  if (!prepared) {
    outcome_ = prepared;
  } else {
    // Two workers read the same source; a session belongs to the one that begins it first.
    const int workers = stat && stat->directory ? kWorkers : 1;
    std::vector<Status> outcomes(kWorkers, Status(Ok{}));
    Status measured = Ok{};
    TaskGroup group(needs_.loop, "import");
    group.spawn(run_on(
        needs_.pool,
        [this]() -> Status {
          bytes_total = bytes_in(needs_.files, request.source, request.path, cancelled_);
          return Ok{};
        },
        measured));
    for (int i = 0; i < workers; ++i)
      group.spawn(run_on(
          needs_.pool, [this] { return work(); }, outcomes[static_cast<std::size_t>(i)]));
    co_await group.join();
    co_await questions_.join();
    for (const auto& outcome : outcomes)
      if (!outcome && (outcome_ || outcome_.error().code == Errc::cancelled)) outcome_ = outcome;
  }
  Status named = Ok{};
  if (sessions == 0)
    co_await run_on(
        needs_.pool, [this] { return name_other_program(); }, named);
  // Whole sessions are taken in even when an error came after them.
  co_await flush_behind();
  if (outcome_) outcome_ = flushed_;
  Status cleared = Ok{};
  co_await run_on(
      needs_.pool, [this] { return clear_staging(needs_.files, needs_.home); }, cleared);
  if (!cleared) log::warn("import: {}", cleared.error().what);
  done_ = true;
  changed_.notify_all();
}

Status ImportJob::work() {
  Status outcome = Ok{};
  {
    StagedIntake intake(*this);
    outcome = request.source.read(needs_.files, request.path, intake);
  }
  // The other worker would go on for nothing.
  if (!outcome) cancelled_ = true;
  return outcome;
}

// When no session was found, says whose they seem to be instead.
Status ImportJob::name_other_program() {
  if (!outcome_ && outcome_.error().code == Errc::cancelled) return Ok{};
  if (request.source.recognises(needs_.files, request.path)) return Ok{};
  const auto* other = recognise(needs_.files, request.path);
  if (!other) return Ok{};
  const auto hint =
      fmt::format("it looks like {}'s; reef import {} reads those", other->name, other->name);
  if (outcome_) {
    problem(Problem{request.path, 0, hint});
  } else {
    outcome_ = Error(outcome_.error().code, outcome_.error().what + "; " + hint);
  }
  return Ok{};
}

session::SessionId ImportJob::choose_id(const Head& head) {
  const auto free = [&](const session::SessionId& id) {
    return !needs_.sessions.find(id) && !taken_.contains(id.text());
  };
  if (auto own = session::SessionId::parse(head.id); own && free(*own)) return *std::move(own);
  constexpr std::int64_t kYear9999 = 253'402'300'799'000;
  const auto created = unix_millis(head.created) > 0 && unix_millis(head.created) < kYear9999
                           ? head.created
                           : needs_.clock.now();
  for (unsigned attempt = 1;; ++attempt) {
    const auto choice = needs_.random.below(session::session_id_choices());
    // Ids are made of words alone first; then of words and numbers, which never run out.
    auto id = session::make_session_id(created, choice, attempt < kIdAttemptsMax / 2 ? 1 : attempt);
    if (free(id)) return id;
  }
}

Decision ImportJob::decide_known(const Head& head, const session::SessionId& id, bool first) {
  Decision decision;
  const auto* row = needs_.sessions.find(id);
  const json::value mark(row->text("originMark"));
  // A session may lie in several files: copies that went different ways.
  json::array others;
  if (const auto* kept = json::find_array(row->meta, "originMarks")) others = *kept;
  const bool known =
      mark == json::value(head.mark) ||
      std::find(others.begin(), others.end(), json::value(head.mark)) != others.end();
  if (!head.mark.empty() && known) {
    if (first) ++unchanged;
    decision.what = first ? Decision::What::unchanged : Decision::What::skip;
    return decision;
  }
  if (!first || !others.empty()) others.push_back(mark);
  if (others.size() > kMarksMax) others.erase(others.begin());
  decision.what = Decision::What::known;
  decision.first = first;
  decision.other_marks = std::move(others);
  decision.id = id;
  decision.meta = row->meta;
  under_way_.insert(head.origin);
  return decision;
}

Task<Result<Decision>> ImportJob::decide_on_loop(Head head) {
  Decision decision;
  if (!claimed_.insert(claim_of(head)).second) co_return decision;
  const bool first = seen_.insert(head.origin).second;
  if (first) ++sessions;
  if (trashed_.contains(head.origin)) {
    problem(Problem{head.path, 0,
                    fmt::format("{} is in the trash here; it was not imported again",
                                utf8::excerpt(head.origin))});
    co_return decision;
  }
  for (bool flushed = false;;) {
    if (under_way_.contains(head.origin)) {
      co_await changed_.wait();
      flushed = false;
      continue;
    }
    const auto found = ids_.find(head.origin);
    if (found == ids_.end()) break;
    if (needs_.sessions.find(found->second)) co_return decide_known(head, found->second, first);
    if (request.dry_run && !first) co_return decision;
    if (flushed) break;  // it was refused, or is gone
    // The session is whole and on its way in.
    REEF_CO_CHECK(co_await flush());
    flushed = true;
  }
  decision.what = Decision::What::fresh;
  decision.id = choose_id(head);
  taken_.insert(decision.id->text());
  ids_.insert_or_assign(head.origin, *decision.id);
  under_way_.insert(head.origin);
  if (const auto parent = ids_.find(head.parent); !head.parent.empty() && parent != ids_.end()) {
    decision.parent_id = parent->second.text();
    decision.parent_path = needs_.transcripts.path_of(parent->second);
  }
  co_return decision;
}

Task<Status> ImportJob::flush() {
  while (flushing_) co_await changed_.wait();
  auto batch = std::exchange(waiting_, {});
  waiting_bytes_ = 0;
  if (batch.empty()) co_return Ok{};
  flushing_ = true;
  std::vector<session::Sessions::Arrival> arrivals;
  for (auto& waiting : batch) arrivals.push_back(waiting.arrival);
  const auto outcomes = co_await needs_.sessions.take_in(std::move(arrivals));
  Status result = Ok{};
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (outcomes[i]) {
      ++added;
      continue;
    }
    ids_.erase(batch[i].origin);
    if (outcomes[i].error().code != Errc::conflict) {
      result = outcomes[i];
    } else {
      // Somebody made a session with the same id meanwhile.
      problem(Problem{batch[i].path, 0, outcomes[i].error().what + "; import again to get it"});
    }
  }
  flushing_ = false;
  changed_.notify_all();
  co_return result;
}

Task<void> ImportJob::flush_behind() {
  if (const auto done = co_await flush(); !done && flushed_) flushed_ = done;
}

bool ImportJob::is_batch() const {
  return waiting_.size() >= kWaitingMax || waiting_bytes_ >= kWaitingBytesMax;
}

// ---- the workers' half ----

Result<Decision> ImportJob::decide(const Head& head) {
  return ask<Result<Decision>>([&] { return decide_on_loop(head); });
}

std::int64_t ImportJob::bind(const session::Key& key, TimePoint updated) {
  return ask<std::int64_t>([&]() -> Task<std::int64_t> {
    if (needs_.sessions.current(key) && !bound_.contains(key.text())) co_return 0;
    bound_.insert(key.text());
    co_return std::max<std::int64_t>(1, unix_millis(std::min(updated, needs_.clock.now())));
  });
}

Status ImportJob::submit(session::Sessions::Arrival arrival, const std::string& origin,
                         const std::string& path) {
  return ask<Status>([&]() -> Task<Status> {
    waiting_bytes_ += arrival.row.bytes;
    waiting_.push_back(Waiting{std::move(arrival), origin, path});
    under_way_.erase(origin);
    changed_.notify_all();
    // One batch goes to the disk while the next is read, but no more.
    while (flushing_ && is_batch()) co_await changed_.wait();
    if (is_batch()) questions_.spawn(flush_behind());
    co_return flushed_;
  });
}

void ImportJob::release(const std::string& origin) {
  static_cast<void>(ask<bool>([&]() -> Task<bool> {
    under_way_.erase(origin);
    changed_.notify_all();
    co_return true;
  }));
}

Result<std::string> ImportJob::read(const session::SessionId& id, std::uint64_t from,
                                    std::uint64_t size) {
  return ask<Result<std::string>>([&] { return needs_.transcripts.read(id, from, size); });
}

Result<session::Session::Placed> ImportJob::append(const session::SessionId& id,
                                                   session::Session::Foreign foreign) {
  return ask<Result<session::Session::Placed>>(
      [&] { return needs_.sessions.append_foreign(id, std::move(foreign)); });
}

bool ImportJob::claim(const Definition& definition) {
  return ask<bool>([&]() -> Task<bool> { co_return claimed_.insert(claim_of(definition)).second; });
}

bool ImportJob::brings_agent(const std::string& name) {
  Definition agent;
  agent.kind = Definition::Kind::agent;
  agent.name = name;
  return ask<bool>([&]() -> Task<bool> { co_return claimed_.contains(claim_of(agent)); });
}

Result<bool> ImportJob::give(const Keeper& keeper, Definition definition) {
  return ask<Result<bool>>([&] { return keeper(std::move(definition)); });
}

void ImportJob::note(Problem problem, std::vector<Problem>& where) {
  problem.path = utf8::sanitize(problem.path);
  problem.why = utf8::sanitize(problem.why);
  const auto hash = hash_of(fmt::format("{}\n{}\n{}", problem.path, problem.line, problem.why));
  const std::lock_guard lock(problems_mutex_);
  if (problems_seen_.size() >= kProblemsMax) {
    ++problems_left_out_;
  } else if (problems_seen_.insert(hash).second) {
    where.push_back(std::move(problem));
  }
}

void ImportJob::problem(Problem problem) {
  note(std::move(problem), problems_);
}

void ImportJob::refused(Problem problem) {
  note(std::move(problem), refused_);
}

void ImportJob::works_in(const std::string& directory) {
  if (directory.empty()) return;
  const auto shown = utf8::sanitize(directory);
  const std::lock_guard lock(problems_mutex_);
  if (directories_.size() < kDirectoriesMax || directories_.contains(shown)) ++directories_[shown];
}

std::string ImportJob::own_mode(const std::string& agent, const std::string& sender,
                                const std::string& key) {
  if (!needs_.own_mode) return "safe";
  return ask<std::string>(
      [&]() -> Task<std::string> { co_return needs_.own_mode(agent, sender, key); });
}

std::vector<Problem> ImportJob::take_problems() {
  const std::lock_guard lock(problems_mutex_);
  return std::exchange(problems_, {});
}

std::vector<Problem> ImportJob::take_refused() {
  const std::lock_guard lock(problems_mutex_);
  return std::exchange(refused_, {});
}

std::vector<ImportDirectory> ImportJob::directories() const {
  const std::lock_guard lock(problems_mutex_);
  std::vector<ImportDirectory> out;
  for (const auto& [path, count] : directories_) out.push_back({path, count});
  return out;
}

std::uint64_t ImportJob::problems_left_out() const {
  const std::lock_guard lock(problems_mutex_);
  return problems_left_out_;
}

// Finds the origins of the sessions in the trash. One that cannot be read has none.
Status ImportJob::find_trashed(const std::vector<session::Trashed>& trashed) {
  for (const auto& session : trashed) {
    OriginSearch search;
    for (std::uint64_t at = 0; !cancelled_;) {
      const auto piece = ask<Result<std::string>>(
          [&] { return needs_.transcripts.read_trashed(session.id, at, kPieceBytes); });
      if (!piece || piece->empty()) break;
      at += piece->size();
      search.take(*piece);
    }
    if (const auto& origin = search.origin()) trashed_.insert(*origin);
  }
  return Ok{};
}

}  // namespace reef::exchange
