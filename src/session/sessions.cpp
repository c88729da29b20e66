// Sessions: rows and their catalog, open and create.

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

#include "base/log.h"
#include "base/shield.h"
#include "base/utf8.h"
#include "session/catalog.h"
#include "session/session.h"

namespace reef::session {
namespace {

// Limits for sessions kept in memory although nobody uses them.
constexpr std::size_t kCacheSessionsMax = 256;
constexpr std::uint64_t kCacheBytesMax = 16U << 20;
constexpr unsigned kIdAttemptsMax = 1000;
constexpr std::size_t kRefreshAtOnce = 256;
// Lists that somebody may still be paging through.
constexpr std::size_t kListingsMax = 16;
constexpr std::chrono::milliseconds kFlushDelay{500};

}  // namespace

Error no_session(const SessionId& id) {
  return Error(Errc::not_found, fmt::format("no session '{}'", id.text()));
}

Sessions::Sessions(Executor loop, Transcripts& transcripts, Journal& catalog, Clock& clock,
                   Random& random, Needs needs)
    : loop_(loop),
      transcripts_(transcripts),
      catalog_(catalog),
      clock_(clock),
      random_(random),
      needs_(std::move(needs)),
      changes_(loop),
      appended_(loop),
      tasks_(loop, "sessions") {}

// ---- rows, bindings, catalog ----

void Sessions::adopt(Row row) {
  const auto id = row.id;
  const auto known = rows_.find(id);
  if (known == rows_.end()) {
    row.slot = SIZE_MAX;
    place(rows_.emplace(id, std::move(row)).first->second);
    return;
  }
  row.slot = known->second.slot;
  known->second = std::move(row);
  place(known->second);
}

void Sessions::place(Row& row) {
  if (row.waiting.empty()) {
    waiting_.erase(row.id);
  } else {
    waiting_.insert(row.id);
  }
  if (row.marks > 0) marked_[std::string(row.key())].insert(row.id);
  if (!row.key().empty()) {
    const auto [bound, is_new] = bindings_.try_emplace(std::string(row.key()), row.id);
    if (!is_new && bound->second != row.id) {
      // The session bound last is current; ids decide between equals, so every start agrees.
      const auto* other = find(bound->second);
      if (!other || other->key() != row.key() ||
          std::pair(other->bound_at(), other->id.text()) < std::pair(row.bound_at(), row.id.text()))
        bound->second = row.id;
    }
  }
  if (row.slot == SIZE_MAX) {
    row.slot = times_.size();
    times_.emplace_back();
  }
  times_[row.slot] = Listing::Dated{row.updated.time_since_epoch().count(), &row};
}

void Sessions::forget(const SessionId& id) {
  const auto row = rows_.find(id);
  if (row == rows_.end()) return;
  const std::string key(row->second.key());
  for (auto& [number, listing] : listings_) listing.drop(&row->second);
  // The last of the times takes its place.
  const auto slot = row->second.slot;
  times_[slot] = times_.back();
  rows_.find(times_[slot].row->id)->second.slot = slot;
  times_.pop_back();
  rows_.erase(row);
  cache_.erase(id);
  waiting_.erase(id);
  if (const auto marked = marked_.find(key); marked != marked_.end()) {
    marked->second.erase(id);
    if (marked->second.empty()) marked_.erase(marked);
  }
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

namespace {

void warn_of_damage(const Row& row) {
  if (row.damage > 0)
    log::warn("session {}: {} damaged place(s); reef fsck tells more", row.id.text(), row.damage);
}

}  // namespace

Task<void> Sessions::refresh(std::vector<Refresh> requests) {
  std::vector<SessionId> ids;
  std::vector<std::optional<Row>> before;
  for (const auto& request : requests) {
    ids.push_back(request.id);
    before.push_back(request.known);
  }
  auto rows = co_await transcripts_.refresh(std::move(requests));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i]) {
      warn_of_damage(*rows[i]);
      adopt(*std::move(rows[i]));
      mark_changed(ids[i]);
    } else {
      log::warn("session {}: {}", ids[i].text(), rows[i].error().what);
      // Better an old row than none: a passing read error must not give its key away.
      if (before[i]) adopt(*std::move(before[i]));
    }
  }
}

namespace {

Task<void> list_into(Transcripts& transcripts, std::optional<Result<std::vector<Stored>>>& stored) {
  stored.emplace(co_await transcripts.list());
}

}  // namespace

Task<Status> Sessions::load() {
  // The files are counted while the catalog is parsed.
  std::optional<Result<std::vector<Stored>>> listed;
  TaskGroup listing(loop_, "list");
  listing.spawn(list_into(transcripts_, listed));
  CatalogReading known;
  const auto read = co_await catalog_.read([&](const ByteSource& source) -> Status {
    REEF_TRY(known, read_catalog(source));
    return Ok{};
  });
  if (!read) log::warn("catalog: {}; it is made again", read.error().what);
  catalog_records_ = known.records;
  catalog_damaged_ = known.damaged;
  if (known.damaged) log::warn("catalog: damaged after {} record(s); mended", known.records);

  co_await listing.join();
  if (!listed) co_return Error(Errc::internal, "the sessions could not be listed");
  REEF_CO_TRY(const auto stored, *std::move(listed));
  rows_ = std::move(known.rows);
  rows_.reserve(stored.size());
  bindings_.reserve(stored.size());
  times_.reserve(stored.size());
  std::vector<Refresh> stale;
  for (const auto& session : stored) {
    const auto found = rows_.find(session.id);
    if (found != rows_.end() && found->second.bytes == session.bytes) {
      place(found->second);
      continue;
    }
    Refresh request{session.id, std::nullopt};
    if (found != rows_.end()) {
      request.known = std::move(found->second);
      rows_.erase(found);
    }
    stale.push_back(std::move(request));
    if (stale.size() == kRefreshAtOnce) co_await refresh(std::exchange(stale, {}));
  }
  if (!stale.empty()) co_await refresh(std::move(stale));
  // A session that is in the catalog and not on disk is gone.
  std::vector<SessionId> gone;
  for (const auto& [id, row] : rows_)
    if (row.slot == SIZE_MAX) gone.push_back(id);
  for (const auto& id : gone) {
    rows_.erase(id);
    mark_changed(id);
  }
  if (catalog_damaged_) plan_flush();
  co_return Ok{};
}

Task<void> Sessions::update(SessionId id) {
  if (!find(id)) co_return;
  std::vector<SessionId> one;
  one.push_back(std::move(id));
  co_await look_at(std::move(one));
}

bool Sessions::is_used(const SessionId& id) const {
  const auto cached = cache_.find(id);
  return cached != cache_.end() && cached->second.session.use_count() > 1;
}

// Changes made here while the files were read are newer than what was read. A last line that is not
// whole is left alone: another program may be writing it.
Task<void> Sessions::look_at(std::vector<SessionId> ids) {
  const auto bytes_of = [this](const SessionId& id) {
    const auto* row = find(id);
    return row ? std::optional(row->bytes) : std::nullopt;
  };
  std::vector<Refresh> requests;
  std::vector<std::optional<std::uint64_t>> before;
  for (const auto& id : ids) {
    const auto* row = find(id);
    requests.push_back(
        Refresh{id, row ? std::optional<Row>(*row) : std::nullopt, Refresh::End::leave});
    before.push_back(bytes_of(id));
  }
  auto rows = co_await transcripts_.refresh(std::move(requests));
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (!rows[i] && rows[i].error().code == Errc::busy) continue;
    if (!rows[i] && rows[i].error().code == Errc::not_found) {
      if (find(ids[i]) && !is_used(ids[i])) drop_missing(ids[i]);
    } else if (!rows[i]) {
      log::warn("session {}: {}", ids[i].text(), rows[i].error().what);
    } else if (bytes_of(ids[i]) == before[i] && rows[i]->bytes != before[i]) {
      warn_of_damage(*rows[i]);
      adopt(*std::move(rows[i]));
      mark_changed(ids[i]);
    }
  }
}

Task<Status> Sessions::rescan() {
  REEF_CO_TRY(const auto stored, co_await transcripts_.list());
  std::set<SessionId> there;
  std::vector<SessionId> different;
  for (const auto& session : stored) {
    there.insert(session.id);
    const auto* row = find(session.id);
    if (row && row->bytes == session.bytes) continue;
    different.push_back(session.id);
    if (different.size() == kRefreshAtOnce) co_await look_at(std::exchange(different, {}));
  }
  if (!different.empty()) co_await look_at(std::move(different));
  // A session that came after the list was made is not in it, nor one that could not be looked at.
  std::vector<SessionId> unlisted;
  for (const auto& [id, row] : rows_)
    if (!there.contains(id)) unlisted.push_back(id);
  for (const auto& id : unlisted) {
    const auto first = co_await transcripts_.read(id, 0, 1);
    if (first || first.error().code != Errc::not_found || !find(id)) continue;
    if (!is_used(id)) drop_missing(id);
  }
  co_return Ok{};
}

Status Sessions::watch() {
  REEF_TRY(watch_, transcripts_.watch(loop_, [this](const Heard& heard) { hear(heard); }));
  return Ok{};
}

void Sessions::hear(const Heard& heard) {
  if (stopping_) return;
  if (heard.id) {
    const auto* row = find(*heard.id);
    // What is known already is no news: each session is heard of when the watch begins.
    if (heard.bytes == (row ? row->bytes : 0)) return;
    heard_.insert(*heard.id);
  } else {
    heard_of_all_ = true;
  }
  if (!std::exchange(hearing_, true)) tasks_.spawn(take_heard());
}

Task<void> Sessions::take_heard() {
  struct Over {
    bool& hearing;
    ~Over() { hearing = false; }
  } const over{hearing_};
  co_await yield_to_loop();
  while (heard_of_all_ || !heard_.empty()) {
    if (std::exchange(heard_of_all_, false))
      if (const auto looked = co_await rescan(); !looked)
        log::warn("sessions: {}", looked.error().what);
    std::vector<SessionId> ids;
    while (!heard_.empty() && ids.size() < kRefreshAtOnce)
      ids.push_back(std::move(heard_.extract(heard_.begin()).value()));
    if (!ids.empty()) co_await look_at(std::move(ids));
  }
}

void Sessions::visit(const std::function<void(const Row&)>& look) const {
  for (const auto& [id, row] : rows_) look(row);
}

void Sessions::mark_changed(const SessionId& id) {
  changed_rows_.insert(id);
  changes_.touch(id.text());
  if (needs_.on_change && !stopping_) needs_.on_change(id, false);
  plan_flush();
}

void Sessions::plan_flush() {
  if (flush_planned_ || stopping_) return;
  flush_planned_ = true;
  tasks_.spawn(flush_later());
}

void Sessions::note(const SessionId& id, json::object patch) {
  // Overlaid instead of merged, because a null must reach the transcript.
  for (const auto& [name, value] : patch) notes_[id][name] = value;
  mark_changed(id);
}

Task<void> Sessions::flush_later() {
  co_await sleep_for(kFlushDelay);
  static_cast<void>(co_await shielded(flush()));
  flush_planned_ = false;
  // Something may have changed meanwhile.
  if (!changed_rows_.empty() || !notes_.empty()) plan_flush();
}

Task<std::string> Sessions::records_of(std::vector<SessionId> ids) {
  constexpr std::size_t kRowsAtOnce = 256;
  std::string bytes;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto* row = find(ids[i]);
    bytes += row ? catalog_record(*row) : catalog_removal(ids[i]);
    // A hundred thousand rows take a while, and others want the loop too.
    if (i % kRowsAtOnce == kRowsAtOnce - 1) co_await yield_to_loop();
  }
  co_return bytes;
}

Task<Ok> Sessions::flush() {
  for (auto& [id, patch] : std::exchange(notes_, {})) {
    if (!find(id)) continue;
    const auto done = co_await append_to(id, draft_meta(std::move(patch)));
    if (!done) log::warn("session {}: {}", id.text(), done.error().what);
  }
  const auto changed = std::exchange(changed_rows_, {});
  if (changed.empty() && !catalog_damaged_) co_return Ok{};
  // The catalog is rewritten when most of it is history.
  const bool rewrite =
      catalog_damaged_ || catalog_records_ + changed.size() > 2 * rows_.size() + 1000;
  std::vector<SessionId> ids(changed.begin(), changed.end());
  if (rewrite) {
    ids.clear();
    for (const auto& [id, row] : rows_) ids.push_back(id);
    catalog_records_ = 0;
    catalog_damaged_ = false;
  }
  catalog_records_ += ids.size();
  const auto bytes = co_await records_of(std::move(ids));
  const auto done = rewrite ? co_await catalog_.replace(bytes) : co_await catalog_.append(bytes);
  if (!done) {
    // It is only a cache: a start finds that it is behind, and the next flush writes it whole.
    catalog_damaged_ = true;
    log::warn("catalog: {}", done.error().what);
  }
  co_return Ok{};
}

Task<void> Sessions::stop() {
  stopping_ = true;
  watch_.reset();
  // A flush that has begun runs to its end; one that still waits is done below.
  tasks_.cancel();
  co_await tasks_.join();
  static_cast<void>(co_await flush());
}

// A cursor is NUMBER/AT/PLACE: a listing, the position in it and, should the listing be gone, the
// place in the order.
Result<Page> Sessions::list(const Query& query) {
  std::uint64_t number = 0;
  std::size_t at = 0;
  std::string_view place;
  if (!query.cursor.empty()) {
    unsigned long long read_number = 0;
    unsigned long long read_at = 0;
    int used = 0;
    if (std::sscanf(query.cursor.c_str(), "%llu/%llu/%n", &read_number, &read_at, &used) != 2 ||
        used == 0)
      return Error(Errc::invalid,
                   fmt::format("'{}' is not a cursor of a list", utf8::excerpt(query.cursor)));
    number = read_number;
    at = read_at;
    place = std::string_view(query.cursor).substr(static_cast<std::size_t>(used));
  }
  auto found = number == 0 ? listings_.end() : listings_.find(number);
  if (found == listings_.end()) {
    if (takes_all(query) && query.sort == Query::Sort::updated) {
      found = listings_.emplace(++last_listing_, Listing(query.ascending, times_)).first;
    } else {
      std::vector<const Row*> rows;
      rows.reserve(rows_.size());
      for (const auto& [id, row] : rows_) rows.push_back(&row);
      found = listings_.emplace(++last_listing_, Listing(query, rows)).first;
    }
    if (!query.cursor.empty()) at = found->second.find_behind(place);
  }
  auto& listing = found->second;
  Page page;
  page.total = listing.total();
  const auto left = page.total - std::min(at, page.total);
  const auto limit = query.limit == 0 ? left : std::min(query.limit, left);
  page.rows = listing.page(at, limit);
  if (limit > 0 && limit < left) {
    page.cursor =
        fmt::format("{}/{}/{}", found->first, at + limit, listing.place_before(at + limit));
    if (listings_.size() > kListingsMax) listings_.erase(listings_.begin());
  } else {
    listings_.erase(found);
  }
  return page;
}

const Row* Sessions::find(const SessionId& id) const {
  const auto found = rows_.find(id);
  return found == rows_.end() ? nullptr : &found->second;
}

std::vector<SessionId> Sessions::marked(const std::string& key) const {
  const auto found = marked_.find(key);
  if (found == marked_.end()) return {};
  return {found->second.begin(), found->second.end()};
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
    for (const auto& entry : entries) fold(found->second, entry);
    found->second.bytes = session.bytes();
    place(found->second);
  } else {
    // Another program wrote before us: read what is missing, from where the row ends.
    std::vector<Refresh> requests;
    requests.push_back(Refresh{session.id(), found->second});
    tasks_.spawn(refresh(std::move(requests)));
  }
  mark_changed(session.id());
  if (on_appended_) on_appended_(session.id(), entries, session.bytes());
  appended_.notify_all();
  // Only now and then, because it costs a walk through the cache.
  untrimmed_bytes_ += bytes;
  if (untrimmed_bytes_ >= kCacheBytesMax / 64) trim_cache();
}

Task<void> Sessions::wait_for_append(std::chrono::milliseconds patience) {
  static_cast<void>(co_await appended_.wait_for(patience));
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
    // Two opens of one session must end in the same object.
    const auto under_way = opening_.find(id);
    if (under_way == opening_.end()) break;
    const auto done = under_way->second;
    co_await done->wait();
  }
  const auto done = std::make_shared<Notify>(loop_);
  opening_.insert_or_assign(id, done);
  auto tail = co_await transcripts_.open(id);
  opening_.erase(id);
  done->notify_all();
  if (!tail) co_return std::move(tail).error();
  auto session = std::make_shared<Session>(loop_, transcripts_, clock_, random_, id,
                                           *std::move(tail), append_hook());
  cache_.insert_or_assign(id, Cached{session, ++uses_});
  trim_cache();
  co_return session;
}

Task<Result<Transcript>> Sessions::read(SessionId id) {
  if (!find(id)) co_return no_session(id);
  REEF_CO_TRY(const auto bytes, co_await transcripts_.read(id));
  co_return Transcript(read_transcript(bytes));
}

Task<Result<std::vector<Marked>>> Sessions::marks(SessionId id) {
  if (!find(id)) co_return no_session(id);
  REEF_CO_TRY(const auto bytes, co_await transcripts_.read(id));
  co_return marks_in(bytes);
}

Task<Result<std::shared_ptr<Session>>> Sessions::create(New request) {
  co_return co_await shielded(create_unshielded(std::move(request)));
}

// Finds a free id and makes the file; `bytes` becomes its content.
Task<Result<SessionId>> Sessions::create_file(std::string lines, Header header,
                                              std::string& bytes) {
  const auto choice = random_.below(session_id_choices());
  for (unsigned attempt = 1; attempt <= kIdAttemptsMax; ++attempt) {
    const auto id = make_session_id(header.time, choice, attempt);
    header.id = id.text();
    bytes = header_line(header) + lines;
    const auto made = co_await transcripts_.create(id, bytes);
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
  if (!request.folder.empty()) meta["workingDirectory"] = request.folder;
  if (!request.made_for.empty()) meta["madeFor"] = request.made_for;
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
    auto entry_id = fresh_entry_id(random_);
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
  auto session = std::make_shared<Session>(loop_, transcripts_, clock_, random_, id,
                                           std::move(tail), append_hook());
  cache_.insert_or_assign(id, Cached{session, ++uses_});
  trim_cache();
  co_return session;
}

void Sessions::trim_cache() {
  untrimmed_bytes_ = 0;
  if (cache_.size() <= kCacheSessionsMax) {
    std::uint64_t bytes = 0;
    for (const auto& [id, cached] : cache_) bytes += cached.session->bytes();
    if (bytes <= kCacheBytesMax) return;
  }
  // Drops sessions that nobody holds, the longest unused first, down to half, so that this is rare.
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

}  // namespace reef::session
