#include "base/log.h"
#include "base/shield.h"
#include "base/utf8.h"
#include "session/session.h"

namespace reef::session {
namespace {

constexpr std::size_t kPreviewChars = 150;
// Sessions kept in memory although nobody uses them.
constexpr std::size_t kCacheSessionsMax = 256;
constexpr std::uint64_t kCacheBytesMax = 16U << 20;
constexpr unsigned kIdAttemptsMax = 1000;

std::string meta_string(const json::object& meta, std::string_view name) {
  return std::string(json::find_string(meta, name).value_or(""));
}

}  // namespace

Row make_row(const SessionId& id, const Transcript& transcript, std::uint64_t bytes) {
  const auto& meta = transcript.meta();
  Row row{id,
          meta_string(meta, "key"),
          meta_string(meta, "agent"),
          meta_string(meta, "sender"),
          meta_string(meta, "title"),
          {},
          0,
          bytes,
          transcript.header().time,
          transcript.header().time};
  for (const auto& entry : transcript.entries()) {
    row.updated = std::max(row.updated, entry.time);
    if (entry.type != "message") continue;
    ++row.message_count;
    if (!row.preview.empty()) continue;
    const auto message = message_of(entry);
    if (message && std::holds_alternative<UserMessage>(*message))
      row.preview = utf8::prefix_chars(
          utf8::single_line(utf8::prefix(text_of(*message), kPreviewChars * 8)), kPreviewChars);
  }
  return row;
}

Sessions::Sessions(Executor loop, Store& store, Clock& clock, Random& random)
    : loop_(std::move(loop)), store_(store), clock_(clock), random_(random) {}

void Sessions::adopt(const SessionId& id, const Transcript& transcript, std::uint64_t bytes) {
  auto row = make_row(id, transcript, bytes);
  if (!row.key.empty()) {
    // Where several sessions carry one key, the one made last is current.
    const auto bound = bindings_.find(row.key);
    if (bound == bindings_.end()) {
      bindings_.emplace(row.key, id);
    } else {
      const auto other = rows_.find(bound->second);
      if (other == rows_.end() || other->second.created <= row.created) bound->second = id;
    }
  }
  rows_.insert_or_assign(id, std::move(row));
}

Task<Status> Sessions::load() {
  REEF_CO_TRY(auto ids, co_await store_.list());
  for (const auto& id : ids) {
    auto bytes = co_await store_.read(id);
    if (!bytes) {
      log::warn("session {}: {}", id.text(), bytes.error().what);
      continue;
    }
    if (!bytes->empty() && bytes->back() != '\n') {
      // A crash tore the last line: mended now, so that every line of every file can be read.
      auto mended = co_await store_.open(id);
      if (mended) bytes = std::move(mended);
    }
    adopt(id, Transcript(read_transcript(*bytes)), bytes->size());
  }
  co_return Ok{};
}

std::vector<Row> Sessions::list() const {
  std::vector<Row> rows;
  rows.reserve(rows_.size());
  for (const auto& [id, row] : rows_) rows.push_back(row);
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.updated > b.updated; });
  return rows;
}

std::optional<Row> Sessions::find(const SessionId& id) const {
  const auto found = rows_.find(id);
  if (found == rows_.end()) return std::nullopt;
  return found->second;
}

std::optional<SessionId> Sessions::current(const Key& key) const {
  const auto found = bindings_.find(key.text());
  if (found == bindings_.end()) return std::nullopt;
  return found->second;
}

Task<Result<std::shared_ptr<Session>>> Sessions::open(SessionId id) {
  co_return co_await shielded(open_unshielded(std::move(id)));
}

Task<Result<std::shared_ptr<Session>>> Sessions::create(New request) {
  co_return co_await shielded(create_unshielded(std::move(request)));
}

Task<Result<std::shared_ptr<Session>>> Sessions::open_unshielded(SessionId id) {
  for (;;) {
    if (const auto cached = cache_.find(id); cached != cache_.end()) {
      cached->second.used = ++uses_;
      co_return cached->second.session;
    }
    // Two opens of one session must end in one object.
    const auto under_way = opening_.find(id);
    if (under_way == opening_.end()) break;
    const auto done = under_way->second.lock();
    if (!done) break;
    co_await done->wait();
  }
  auto done = std::make_shared<Notify>(loop_);
  opening_.insert_or_assign(id, done);
  auto bytes = co_await store_.open(id);
  opening_.erase(id);
  done->notify_all();
  if (!bytes) co_return std::move(bytes).error();
  auto session = std::make_shared<Session>(loop_, store_, clock_, random_, id, *std::move(bytes));
  cache_.insert_or_assign(id, Cached{session, ++uses_});
  co_return session;
}

Task<Result<std::shared_ptr<Session>>> Sessions::create_unshielded(New request) {
  const auto now = clock_.now();
  const auto choice = random_.below(session_id_choices());

  std::vector<Draft> drafts;
  drafts.push_back(draft_meta(json::object{{"key", request.key.text()},
                                           {"agent", request.agent},
                                           {"sender", request.sender},
                                           {"source", "native"}}));
  for (auto& draft : request.drafts) drafts.push_back(std::move(draft));
  std::string lines;
  std::optional<EntryId> parent;
  for (auto& draft : drafts) {
    EntryId entry_id{random_.hex(8)};
    while (parent && entry_id == *parent) entry_id.text = random_.hex(8);
    auto entry = make_entry(std::move(draft), entry_id, parent, now);
    lines += entry_line(entry);
    parent = std::move(entry_id);
  }

  for (unsigned attempt = 1; attempt <= kIdAttemptsMax; ++attempt) {
    const auto id = make_session_id(now, choice, attempt);
    Header header;
    header.id = id.text();
    header.time = now;
    header.cwd = request.cwd;
    auto bytes = header_line(header) + lines;
    const auto made = co_await store_.create(id, bytes);
    if (!made && made.error().code == Errc::conflict) continue;
    if (!made) co_return made.error();
    auto session = std::make_shared<Session>(loop_, store_, clock_, random_, id, std::move(bytes));
    adopt(id, session->transcript(), session->bytes());
    cache_.insert_or_assign(id, Cached{session, ++uses_});
    trim_cache();
    co_return session;
  }
  co_return Error(Errc::conflict, "no free session id; is the sessions directory writable?");
}

void Sessions::touch(const Session& session) {
  adopt(session.id(), session.transcript(), session.bytes());
  trim_cache();
}

void Sessions::trim_cache() {
  std::uint64_t bytes = 0;
  for (const auto& [id, cached] : cache_) bytes += cached.session->bytes();
  while (cache_.size() > kCacheSessionsMax || bytes > kCacheBytesMax) {
    auto oldest = cache_.end();
    for (auto it = cache_.begin(); it != cache_.end(); ++it)
      if (it->second.session.use_count() == 1 &&
          (oldest == cache_.end() || it->second.used < oldest->second.used))
        oldest = it;
    if (oldest == cache_.end()) return;
    bytes -= oldest->second.session->bytes();
    cache_.erase(oldest);
  }
}

}  // namespace reef::session
