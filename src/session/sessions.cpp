#include <algorithm>

#include <fmt/format.h>

#include "base/log.h"
#include "base/shield.h"
#include "base/utf8.h"
#include "session/catalog.h"
#include "session/metadata.h"
#include "session/session.h"

namespace reef::session {
namespace {

// Sessions kept in memory although nobody uses them.
constexpr std::size_t kCacheSessionsMax = 256;
constexpr std::uint64_t kCacheBytesMax = 16U << 20;
constexpr unsigned kIdAttemptsMax = 1000;
constexpr std::size_t kEntryIdDigits = 12;
constexpr std::size_t kRefreshAtOnce = 256;
constexpr std::chrono::milliseconds kFlushDelay{500};

std::int64_t millis(TimePoint time) {
  return time.time_since_epoch().count();
}

Error no_session(const SessionId& id) {
  return Error(Errc::not_found, fmt::format("no session '{}'", id.text()));
}

}  // namespace

Sessions::Sessions(Executor loop, Store& store, Clock& clock, Random& random)
    : loop_(loop),
      store_(store),
      clock_(clock),
      random_(random),
      appended_(loop),
      tasks_(loop, "sessions") {}

// ---- rows, bindings, catalog ----

void Sessions::adopt(Row row) {
  const auto id = row.id;
  if (!row.key().empty()) {
    const std::string key(row.key());
    const auto bound = bindings_.find(key);
    if (bound == bindings_.end()) {
      bindings_.emplace(key, id);
    } else if (bound->second != id) {
      // Bound last is current; ids decide between equals, so that every start decides alike.
      const auto* other = find(bound->second);
      if (!other || other->key() != key ||
          std::pair(other->bound_at(), other->id.text()) < std::pair(row.bound_at(), id.text()))
        bound->second = id;
    }
  }
  rows_.insert_or_assign(id, std::move(row));
}

void Sessions::forget(const SessionId& id) {
  const auto row = rows_.find(id);
  if (row == rows_.end()) return;
  const std::string key(row->second.key());
  rows_.erase(row);
  cache_.erase(id);
  const auto bound = bindings_.find(key);
  if (bound == bindings_.end() || bound->second != id) return;
  // The key goes back to the session it was bound to before.
  bindings_.erase(bound);
  const Row* best = nullptr;
  for (const auto& [other_id, other] : rows_)
    if (other.key() == key && (!best || std::pair(best->bound_at(), best->id.text()) <
                                            std::pair(other.bound_at(), other_id.text())))
      best = &other;
  if (best) bindings_.emplace(key, best->id);
}

Task<void> Sessions::refresh(std::vector<Refresh> requests) {
  std::vector<SessionId> ids;
  std::vector<std::optional<Row>> before;
  for (const auto& request : requests) {
    ids.push_back(request.id);
    before.push_back(request.known);
  }
  auto rows = co_await store_.refresh(std::move(requests));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i]) {
      if (rows[i]->damage > 0)
        log::warn("session {}: {} damaged place(s); reef fsck tells more", ids[i].text(),
                  rows[i]->damage);
      adopt(*std::move(rows[i]));
      mark_changed(ids[i]);
    } else {
      log::warn("session {}: {}", ids[i].text(), rows[i].error().what);
      // Better old than forgotten: its key must not go to a new session for a passing read error.
      if (before[i]) adopt(*std::move(before[i]));
    }
  }
}

Task<Status> Sessions::load() {
  auto bytes = co_await store_.read_catalog();
  if (!bytes) log::warn("catalog: {}; it is made again", bytes.error().what);
  auto known = read_catalog(bytes ? std::string_view(*bytes) : std::string_view());
  catalog_records_ = known.records;
  catalog_damaged_ = known.damaged;
  if (known.damaged) log::warn("catalog: damaged after {} record(s); mended", known.records);

  REEF_CO_TRY(const auto stored, co_await store_.list());
  rows_.reserve(stored.size());
  std::vector<Refresh> stale;
  for (const auto& session : stored) {
    const auto found = known.rows.find(session.id);
    if (found != known.rows.end() && found->second.bytes == session.bytes) {
      adopt(std::move(found->second));
      known.rows.erase(found);
      continue;
    }
    Refresh request{session.id, std::nullopt};
    if (found != known.rows.end()) {
      request.known = std::move(found->second);
      known.rows.erase(found);
    }
    stale.push_back(std::move(request));
    if (stale.size() == kRefreshAtOnce) co_await refresh(std::exchange(stale, {}));
  }
  if (!stale.empty()) co_await refresh(std::move(stale));
  // What is in the catalog and not on disk is gone.
  for (const auto& [id, row] : known.rows) mark_changed(id);
  if (catalog_damaged_) plan_flush();
  co_return Ok{};
}

void Sessions::mark_changed(const SessionId& id) {
  changed_rows_.insert(id);
  plan_flush();
}

void Sessions::plan_flush() {
  if (flush_planned_ || stopping_) return;
  flush_planned_ = true;
  tasks_.spawn(flush_later());
}

void Sessions::note(const SessionId& id, json::object patch) {
  // Not merged but overlaid: a null must reach the transcript.
  for (const auto& [name, value] : patch) notes_[id][name] = value;
  mark_changed(id);
}

Task<void> Sessions::flush_later() {
  co_await sleep_for(kFlushDelay);
  flush_planned_ = false;
  static_cast<void>(co_await shielded(flush()));
}

Task<Ok> Sessions::flush() {
  for (auto& [id, patch] : std::exchange(notes_, {})) {
    if (!find(id)) continue;
    const auto done = co_await append_to(id, draft_meta(std::move(patch)));
    if (!done) log::warn("session {}: {}", id.text(), done.error().what);
  }
  const auto changed = std::exchange(changed_rows_, {});
  if (changed.empty() && !catalog_damaged_) co_return Ok{};
  // Rewritten when most of it is history.
  const bool rewrite =
      catalog_damaged_ || catalog_records_ + changed.size() > 2 * rows_.size() + 1000;
  std::string bytes;
  Status done = Ok{};
  if (rewrite) {
    for (const auto& [id, row] : rows_) bytes += catalog_record(row);
    catalog_records_ = rows_.size();
    catalog_damaged_ = false;
    done = co_await store_.replace_catalog(std::move(bytes));
  } else {
    for (const auto& id : changed) {
      const auto* row = find(id);
      bytes += row ? catalog_record(*row) : catalog_removal(id);
    }
    catalog_records_ += changed.size();
    done = co_await store_.append_catalog(std::move(bytes));
  }
  if (!done) {
    // Only a cache: it will be found behind and brought up to date, or written whole next time.
    catalog_damaged_ = true;
    log::warn("catalog: {}", done.error().what);
  }
  co_return Ok{};
}

Task<void> Sessions::stop() {
  stopping_ = true;
  // A flush that has begun runs to its end; one that only waits is done now.
  tasks_.cancel();
  co_await tasks_.join();
  static_cast<void>(co_await flush());
}

Result<Page> Sessions::list(const Query& query) const {
  std::vector<const Row*> rows;
  rows.reserve(rows_.size());
  for (const auto& [id, row] : rows_) rows.push_back(&row);
  return run_query(query, std::move(rows));
}

const Row* Sessions::find(const SessionId& id) const {
  const auto found = rows_.find(id);
  return found == rows_.end() ? nullptr : &found->second;
}

std::optional<SessionId> Sessions::current(const Key& key) const {
  const auto found = bindings_.find(key.text());
  if (found == bindings_.end()) return std::nullopt;
  return found->second;
}

// ---- open and create ----

Session::OnAppend Sessions::append_hook() {
  return [this](Session& session, const std::vector<Entry>& entries, std::uint64_t bytes) {
    on_append(session, entries, bytes);
  };
}

void Sessions::on_append(Session& session, const std::vector<Entry>& entries, std::uint64_t bytes) {
  const auto found = rows_.find(session.id());
  if (found == rows_.end()) return;  // trashed meanwhile
  if (found->second.bytes + bytes == session.bytes()) {
    auto row = std::move(found->second);
    for (const auto& entry : entries) fold(row, entry);
    row.bytes = session.bytes();
    adopt(std::move(row));
  } else {
    // Another program wrote before us: what is missing is read from where the row ends.
    std::vector<Refresh> requests;
    requests.push_back(Refresh{session.id(), found->second});
    tasks_.spawn(refresh(std::move(requests)));
  }
  mark_changed(session.id());
  appended_.notify_all();
  trim_cache();
}

Task<void> Sessions::wait_for_append(std::chrono::steady_clock::time_point deadline) {
  static_cast<void>(co_await appended_.wait_until(deadline));
}

Task<Result<std::shared_ptr<Session>>> Sessions::open(SessionId id) {
  co_return co_await shielded(open_unshielded(std::move(id)));
}

Task<Result<std::shared_ptr<Session>>> Sessions::open_unshielded(SessionId id) {
  for (;;) {
    if (!find(id)) co_return no_session(id);
    if (const auto cached = cache_.find(id); cached != cache_.end()) {
      cached->second.used = ++uses_;
      co_return cached->second.session;
    }
    // Two opens of one session must end in one object.
    const auto under_way = opening_.find(id);
    if (under_way == opening_.end()) break;
    const auto done = under_way->second;
    co_await done->wait();
  }
  const auto done = std::make_shared<Notify>(loop_);
  opening_.insert_or_assign(id, done);
  auto tail = co_await store_.open(id);
  opening_.erase(id);
  done->notify_all();
  if (!tail) co_return std::move(tail).error();
  auto session = std::make_shared<Session>(loop_, store_, clock_, random_, id, *std::move(tail),
                                           append_hook());
  cache_.insert_or_assign(id, Cached{session, ++uses_});
  trim_cache();
  co_return session;
}

Task<Result<Transcript>> Sessions::read(SessionId id) {
  if (!find(id)) co_return no_session(id);
  REEF_CO_TRY(const auto bytes, co_await store_.read(id));
  co_return Transcript(read_transcript(bytes));
}

Task<Result<std::shared_ptr<Session>>> Sessions::create(New request) {
  co_return co_await shielded(create_unshielded(std::move(request)));
}

// Finds a free id; `bytes` becomes what was written.
Task<Result<SessionId>> Sessions::create_file(std::string lines, Header header,
                                              std::string& bytes) {
  const auto choice = random_.below(session_id_choices());
  for (unsigned attempt = 1; attempt <= kIdAttemptsMax; ++attempt) {
    const auto id = make_session_id(header.time, choice, attempt);
    header.id = id.text();
    bytes = header_line(header) + lines;
    const auto made = co_await store_.create(id, bytes);
    if (made) co_return id;
    if (made.error().code != Errc::conflict) co_return made.error();
  }
  co_return Error(Errc::conflict, "no free session id for today");
}

Task<Result<std::shared_ptr<Session>>> Sessions::create_unshielded(New request) {
  const auto now = clock_.now();
  json::object meta;
  if (request.key) {
    meta["key"] = request.key->text();
    meta["boundAt"] = next_binding(*request.key);
  }
  meta["agent"] = request.agent;
  meta["sender"] = request.sender;
  meta["source"] = "native";
  std::vector<Draft> drafts;
  drafts.push_back(draft_meta(std::move(meta)));
  for (auto& draft : request.drafts) drafts.push_back(std::move(draft));

  Header header;
  header.time = now;
  header.cwd = request.cwd;
  std::string lines;
  std::vector<Entry> entries;
  std::optional<EntryId> parent;
  for (auto& draft : drafts) {
    EntryId entry_id{random_.hex(kEntryIdDigits)};
    entries.push_back(make_entry(std::move(draft), entry_id, parent, now));
    lines += entry_line(entries.back());
    parent = std::move(entry_id);
  }
  std::string bytes;
  REEF_CO_TRY(const auto id, co_await create_file(std::move(lines), header, bytes));

  auto row = start_row(id, header);
  std::vector<const Entry*> branch;
  for (const auto& entry : entries) {
    fold(row, entry);
    branch.push_back(&entry);
  }
  row.bytes = bytes.size();
  Tail tail;
  tail.bytes = bytes.size();
  tail.leaf = entries.back().id;
  tail.context = build_context(branch);
  adopt(std::move(row));
  mark_changed(id);
  auto session =
      std::make_shared<Session>(loop_, store_, clock_, random_, id, std::move(tail), append_hook());
  cache_.insert_or_assign(id, Cached{session, ++uses_});
  trim_cache();
  co_return session;
}

void Sessions::trim_cache() {
  if (cache_.size() <= kCacheSessionsMax) {
    std::uint64_t bytes = 0;
    for (const auto& [id, cached] : cache_) bytes += cached.session->bytes();
    if (bytes <= kCacheBytesMax) return;
  }
  // Those nobody holds, the longest unused first; down to half, so that this is rare.
  std::vector<std::pair<std::uint64_t, SessionId>> idle;
  std::uint64_t bytes = 0;
  for (const auto& [id, cached] : cache_) {
    bytes += cached.session->bytes();
    if (cached.session.use_count() == 1) idle.emplace_back(cached.used, id);
  }
  std::sort(idle.begin(), idle.end());
  for (const auto& [used, id] : idle) {
    if (cache_.size() <= kCacheSessionsMax / 2 && bytes <= kCacheBytesMax / 2) return;
    const auto found = cache_.find(id);
    bytes -= found->second.session->bytes();
    cache_.erase(found);
  }
}

// ---- changes ----

Task<Status> Sessions::append_to(SessionId id, Draft draft, std::optional<EntryId> parent) {
  REEF_CO_TRY(const auto session, co_await open(std::move(id)));
  REEF_CO_TRY(const auto entry, co_await session->append(std::move(draft), std::move(parent)));
  static_cast<void>(entry);
  co_return Ok{};
}

// Later than any binding of the key there is, also when the clock stands still or went back.
std::int64_t Sessions::next_binding(const Key& key) const {
  const auto now = millis(clock_.now());
  const auto bound = current(key);
  const auto* row = bound ? find(*bound) : nullptr;
  return row ? std::max(now, row->bound_at() + 1) : now;
}

Task<Result<Key>> Sessions::resume(SessionId id, std::optional<Key> key) {
  const auto* row = find(id);
  if (!row) co_return no_session(id);
  if (!key) {
    auto own =
        row->key().empty() ? Key::of_pair(row->agent(), row->sender()) : Key::parse(row->key());
    if (!own)
      co_return std::move(own).error().with("session " + id.text() + " has no key; name one");
    key = *std::move(own);
  }
  const auto bound_at = next_binding(*key);
  REEF_CO_CHECK(co_await append_to(
      id, draft_meta(json::object{
              {"key", key->text()}, {"boundAt", bound_at}, {"lastUsedAt", millis(clock_.now())}})));
  co_return *key;
}

Task<Status> Sessions::rewind(SessionId id, EntryId entry) {
  REEF_CO_TRY(const auto transcript, co_await read(id));
  if (!transcript.find(entry))
    co_return Error(Errc::not_found, fmt::format("no entry '{}' in session {}",
                                                 utf8::excerpt(entry.text), id.text()));
  json::object data{{"to", entry.text}};
  if (const auto* leaf = transcript.leaf()) data["from"] = leaf->id.text;
  Draft mark{"custom", json::object{{"customType", "reef.rewind"}, {"data", std::move(data)}}};
  co_return co_await append_to(std::move(id), std::move(mark), std::move(entry));
}

Task<Status> Sessions::label(SessionId id, EntryId entry, std::string text) {
  REEF_CO_TRY(const auto transcript, co_await read(id));
  if (!transcript.find(entry))
    co_return Error(Errc::not_found, fmt::format("no entry '{}' in session {}",
                                                 utf8::excerpt(entry.text), id.text()));
  Draft draft{"label", json::object{{"targetId", entry.text}}};
  if (!text.empty()) draft.fields["label"] = text;
  co_return co_await append_to(std::move(id), std::move(draft));
}

Task<Status> Sessions::patch(SessionId id, json::object patch) {
  REEF_CO_CHECK(check_patch(patch));
  // The title has an entry type of its own, which pi reads too.
  std::optional<std::string> title;
  if (const auto* name = patch.if_contains("name")) {
    title = name->is_null() ? std::string() : std::string(name->get_string());
    patch.erase("name");
  }
  if (title)
    REEF_CO_CHECK(co_await append_to(id, Draft{"session_info", json::object{{"name", *title}}}));
  if (!patch.empty()) REEF_CO_CHECK(co_await append_to(id, draft_meta(std::move(patch))));
  co_return Ok{};
}

Task<Result<SessionId>> Sessions::fork(SessionId id, std::optional<EntryId> at) {
  const auto* row = find(id);
  if (!row) co_return no_session(id);
  const std::string agent(row->agent());
  const std::string sender(row->sender());
  REEF_CO_TRY(const auto transcript, co_await read(id));
  const auto branch = at ? transcript.branch(*at) : transcript.branch();
  if (at && branch.empty())
    co_return Error(Errc::not_found,
                    fmt::format("no entry '{}' in session {}", utf8::excerpt(at->text), id.text()));

  std::string lines;
  std::optional<EntryId> parent;
  std::set<std::string> copied;
  const auto add = [&](Entry entry) {
    parent = entry.id;
    copied.insert(entry.id.text);
    lines += entry_line(entry);
  };
  for (const auto* entry : branch) {
    // Labels are made again below; bindings and marks belong to the old session.
    const bool mark = json::find_string(entry->body, "customType") == "reef.rewind";
    if (entry->type == "label" || meta_of(*entry) || mark) continue;
    auto copy = *entry;
    copy.parent = parent;
    copy.body["parentId"] = parent ? json::value(parent->text) : json::value(nullptr);
    copy.body["id"] = copy.id.text;
    add(std::move(copy));
  }
  const auto now = clock_.now();
  const auto append_draft = [&](Draft draft) {
    add(make_entry(std::move(draft), EntryId{random_.hex(kEntryIdDigits)}, parent, now));
  };
  for (const auto& [target, text] : transcript.labels())
    if (copied.contains(target))
      append_draft(Draft{"label", json::object{{"targetId", target}, {"label", text}}});
  append_draft(draft_meta(json::object{
      {"agent", agent}, {"sender", sender}, {"source", "native"}, {"forkedFrom", id.text()}}));
  Header header;
  header.time = now;
  header.cwd = transcript.header().cwd;
  header.parent_session = store_.path_of(id);
  std::string bytes;
  REEF_CO_TRY(auto made, co_await shielded(create_file(std::move(lines), header, bytes)));
  adopt(make_row(made, bytes));
  mark_changed(made);
  co_return made;
}

Task<Result<Sessions::Check>> Sessions::check(SessionId id, bool repair) {
  co_return co_await shielded(check_unshielded(std::move(id), repair));
}

Task<Result<Sessions::Check>> Sessions::check_unshielded(SessionId id, bool repair) {
  REEF_CO_TRY(const auto bytes, co_await store_.read(id));
  const auto* row = find(id);
  if (!row) co_return no_session(id);
  Check check;
  check.findings = check_transcript(bytes, *row);
  // A session in use grows between the two looks; that is no finding.
  if (row->bytes != bytes.size())
    std::erase_if(check.findings, [](const Finding& f) { return f.kind == "catalog"; });
  if (check.findings.empty() || !repair) co_return check;
  const bool in_file = std::any_of(check.findings.begin(), check.findings.end(),
                                   [](const Finding& f) { return f.kind != "catalog"; });
  if (in_file) {
    REEF_CO_CHECK(co_await store_.rewrite(id, bytes.size(), repaired(bytes, id)));
    if (const auto cached = cache_.find(id); cached != cache_.end())
      cached->second.session->distrust();
  }
  std::vector<Refresh> requests;
  requests.push_back(Refresh{id, std::nullopt});
  co_await refresh(std::move(requests));
  check.repaired = true;
  co_return check;
}

void Sessions::drop_missing(const SessionId& id) {
  log::warn("session {}: its folder was removed by somebody else", id.text());
  forget(id);
  mark_changed(id);
}

Task<Status> Sessions::trash_unshielded(SessionId id) {
  if (!find(id)) co_return no_session(id);
  REEF_CO_CHECK(co_await store_.trash(id));
  forget(id);
  mark_changed(id);
  co_return Ok{};
}

Task<Status> Sessions::restore_unshielded(SessionId id) {
  REEF_CO_CHECK(co_await store_.restore(id));
  std::vector<Refresh> requests;
  requests.push_back(Refresh{id, std::nullopt});
  co_await refresh(std::move(requests));
  co_return Ok{};
}

Task<Status> Sessions::trash(SessionId id) {
  co_return co_await shielded(trash_unshielded(std::move(id)));
}

Task<Status> Sessions::restore(SessionId id) {
  co_return co_await shielded(restore_unshielded(std::move(id)));
}

}  // namespace reef::session
