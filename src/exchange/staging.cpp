#include "exchange/staging.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/log.h"
#include "base/utf8.h"
#include "exchange/definitions.h"
#include "exchange/foreign_file.h"
#include "exchange/trust.h"
#include "session/metadata.h"

namespace reef::exchange {
namespace {

using session::Entry;

constexpr std::size_t kWriteBytes = 1U << 20;
// Entries for a session that is already here are appended in pieces of this size.
constexpr std::size_t kAppendBytes = 4U << 20;
constexpr std::size_t kPieceBytes = 1U << 20;
constexpr std::size_t kNameBytesMax = 200;
// Files up to this size are read at once, to be compared and searched for secrets.
constexpr std::uint64_t kWholeFileBytesMax = 8U << 20;
constexpr std::size_t kOtherMetaBytesMax = 16U << 10;
constexpr std::size_t kMetaTextBytesMax = 1024;
constexpr int kTreeDepthMax = 16;

// The source's own count of what the session used; the next import counts only the difference.
constexpr std::string_view kUsageField = "originUsage";

bool is_conversation(const Entry& entry) {
  for (const auto type :
       {"message", "custom_message", "compaction", "branch_summary", "context_edit"})
    if (entry.type == type) return true;
  return false;
}

// Numbers of ours that nobody sets by hand.
bool is_count(std::string_view field) {
  return field == "uptimeSecs" || field == "lastUsedAt" || field == "archivedAt";
}

bool is_rewind(const Entry& entry) {
  return json::find_string(entry.body, "customType") == "reef.rewind";
}

// A name that stays in its folder and can be shown.
std::string safe_name(std::string_view name) {
  std::string out;
  for (const char c : utf8::printable(utf8::sanitize(name)))
    out.push_back(c == '/' || c == '\\' || c == '\n' || c == '\t' ? '_' : c);
  out = utf8::prefix(out, kNameBytesMax);
  while (out.starts_with('.')) out.erase(0, 1);
  return out.empty() ? "file" : out;
}

// name-2.png
std::string numbered(const std::string& name, int n) {
  if (n < 2) return name;
  const auto dot = name.find_last_of('.');
  if (dot == std::string::npos || dot == 0) return fmt::format("{}-{}", name, n);
  return fmt::format("{}-{}{}", name.substr(0, dot), n, name.substr(dot));
}

Status remove_below(Files& files, const std::string& path, int depth) {
  auto removed = files.remove(path);
  if (removed || removed.error().code == Errc::not_found) return Ok{};
  const auto names = files.list(path);
  if (!names || depth == 0) return removed;
  for (const auto& name : *names) REEF_CHECK(remove_below(files, path + "/" + name, depth - 1));
  return files.remove(path);
}

void set_parent(Entry& entry, std::optional<session::EntryId> parent) {
  entry.body["parentId"] = parent ? json::value(parent->text) : json::value(nullptr);
  entry.parent = std::move(parent);
}

Status make_folder(Files& files, const std::string& path) {
  auto made = files.make_directory(path);
  if (!made && made.error().code == Errc::conflict) return Ok{};
  return made;
}

}  // namespace

std::string staging_of(const std::string& home) {
  return home + "/staging";
}

Status remove_tree(Files& files, const std::string& path) {
  return remove_below(files, path, kTreeDepthMax);
}

Status clear_staging(Files& files, const std::string& home) {
  return remove_tree(files, staging_of(home));
}

std::optional<std::string> origin_in(Files& files, const std::string& path) {
  auto lines = LineReader::open(files, path);
  if (!lines) return std::nullopt;
  std::optional<std::string> origin;
  for (;;) {
    const auto line = lines->next();
    if (!line || !*line) return origin;
    if ((*line)->text.find(session::kMetaType) == std::string_view::npos) continue;
    auto parsed = json::parse_lenient((*line)->text);
    if (!parsed || !parsed->is_object()) continue;
    const auto entry = session::entry_from(std::move(parsed->get_object()));
    const auto* meta = entry ? session::meta_of(*entry) : nullptr;
    if (!meta) continue;
    if (const auto found = json::find_string(*meta, "origin")) origin = std::string(*found);
  }
}

// ---- the session being read ----

struct StagedIntake::Open {
  explicit Open(Head what, session::SessionId session_id)
      : head(std::move(what)), id(std::move(session_id)), row(id) {}

  Head head;
  session::SessionId id;
  json::object meta;      // the head's, and what was learned
  Claims claims;          // the head's, and those of entries of ours
  std::string parent_id;  // the session it was forked from
  session::Row row;       // folded on the way, for a fresh session
  std::optional<session::EntryId> last;
  IdTable ids;
  std::uint64_t entries = 0;  // new ones
  std::uint64_t repeated = 0;
  std::uint64_t orphans = 0;

  // Set for a fresh session.
  std::string folder;
  Fd file;
  std::uint64_t written = 0;

  // Set for a session that is already here.
  bool known = false;
  bool first = true;        // no other file of this import is of the same session
  json::array other_marks;  // the marks of its other files
  json::object before;      // its metadata here
  std::optional<session::EntryId> leaf;
  bool aside = false;  // somebody went on with it here, so the leaf stays
  std::vector<Entry> added;
  std::size_t added_bytes = 0;
};

StagedIntake::StagedIntake(ImportJob& job) : job_(job), files_(job.needs().files) {}

StagedIntake::~StagedIntake() {
  abandon();
}

// Drops the session whose reader did not end it.
void StagedIntake::abandon() {
  if (!open_) return;
  const auto open = std::exchange(open_, nullptr);
  job_.release(open->head.origin);
  if (open->folder.empty()) return;
  open->file.reset();
  if (const auto removed = remove_tree(files_, open->folder); !removed)
    log::warn("import: {}", removed.error().what);
}

Result<bool> StagedIntake::begin(Head head) {
  abandon();
  counting_ = false;
  if (cancelled()) return Error(Errc::cancelled, "cancelled");
  REEF_TRY(auto decision, job_.decide(head));
  if (decision.what == Decision::What::skip) return false;
  counting_ = true;
  if (decision.what == Decision::What::unchanged) return false;
  head.of_store = head.of_store && job_.request.source.has_store;
  open_ = std::make_unique<Open>(std::move(head), *decision.id);
  open_->meta = open_->head.meta;
  // Fields we do not know are set aside later, as `imported`, where they have no effect.
  json::object claimed;
  for (const auto* field : {"key", "permissionMode", "modelOverride", "policy"})
    if (auto* value = open_->meta.if_contains(field)) {
      claimed[field] = std::move(*value);
      open_->meta.erase(field);
    }
  keep_harmless(claimed, open_->claims);
  Status begun = Ok{};
  if (decision.what == Decision::What::known) {
    begun = begin_known(*open_, std::move(decision));
  } else {
    begun = begin_fresh(*open_, decision);
  }
  if (!begun) {
    abandon();
    return std::move(begun).error();
  }
  return true;
}

Status StagedIntake::begin_fresh(Open& open, const Decision& decision) {
  session::Header header;
  header.id = open.id.text();
  header.time = open.head.created;
  header.cwd = redacted(open.head.cwd);
  header.parent_session = decision.parent_path;
  open.parent_id = decision.parent_id;
  open.row = session::start_row(open.id, header);
  lines_.clear();
  lines_ += session::header_line(header);
  if (job_.request.dry_run) return Ok{};
  REEF_CHECK(make_folder(files_, staging_of(job_.needs().home)));
  open.folder = job_.staging_folder();
  REEF_CHECK(files_.make_directory(open.folder));
  REEF_TRY(open.file, files_.open(open.folder + "/session.jsonl", Files::Open::create));
  return Ok{};
}

// Finds out which entries are here, and whether somebody went on with the session here.
Status StagedIntake::begin_known(Open& open, Decision decision) {
  open.known = true;
  open.before = std::move(decision.meta);
  open.first = decision.first;
  open.other_marks = std::move(decision.other_marks);
  std::string held;
  std::uint64_t at = 0;
  std::optional<session::EntryId> rewound;  // set when the entry before is a mark
  const auto look = [&](std::string_view line) {
    auto parsed = json::parse_lenient(line);
    if (!parsed || !parsed->is_object()) return;
    auto entry = session::entry_from(std::move(parsed->get_object()));
    if (!entry || entry->id.text.empty() || entry->type == "session") return;
    open.ids.insert(hash_of(entry->id.text));
    const auto* meta = session::meta_of(*entry);
    if (meta && meta->contains("originMark")) {
      // An import ends here; everything after it was said here.
      open.aside =
          json::find_bool(*meta, "originAside").value_or(rewound && entry->parent == rewound);
    } else if (is_conversation(*entry) || is_rewind(*entry)) {
      open.aside = true;
    }
    rewound = is_rewind(*entry) ? std::optional(entry->id) : std::nullopt;
    open.leaf = std::move(entry->id);
  };
  for (;;) {
    if (cancelled()) return Error(Errc::cancelled, "cancelled");
    REEF_TRY(const auto piece, job_.read(open.id, at, kPieceBytes));
    if (piece.empty()) break;
    at += piece.size();
    held += piece;
    std::size_t from = 0;
    for (auto end = held.find('\n'); end != std::string::npos; end = held.find('\n', from)) {
      look(std::string_view(held).substr(from, end - from));
      from = end + 1;
    }
    held.erase(0, from);
  }
  return Ok{};
}

Status StagedIntake::entry(Entry entry, std::string_view line) {
  if (cancelled()) return Error(Errc::cancelled, "cancelled");
  auto& open = *open_;
  // The engine relies on ids and parents, so a source's are checked.
  if (entry.id.text.empty()) {
    entry.id = stable_id(json::write(entry.body));
    entry.body["id"] = entry.id.text;
    line = {};
  }
  if (!open.ids.insert(hash_of(entry.id.text))) {
    if (!open.known) ++open.repeated;
    open.last = entry.id;
    return Ok{};
  }
  if (entry.parent && !open.ids.contains(hash_of(entry.parent->text))) {
    ++open.orphans;
    set_parent(entry, open.last);
    line = {};
  }
  // A session of ours comes back: what its metadata may set is decided here.
  if (session::meta_of(entry)) {
    auto& data = entry.body["data"].get_object();
    keep_harmless(data, open.claims);
    // Metadata that was set here stays.
    if (open.known)
      for (const auto& [field, value] : open.before) data.erase(field);
    line = {};
  }
  if (job_.request.redact) {
    json::value body(std::move(entry.body));
    if (redact(body)) line = {};
    entry.body = std::move(body.get_object());
  }
  open.last = entry.id;
  ++open.entries;
  ++job_.entries;
  if (!open.known) return write(entry, line);
  open.added_bytes += entry.body.size() * 16 + 64;
  if (const auto* message = entry.body.if_contains("message"))
    open.added_bytes += json::write(*message).size();
  open.added.push_back(std::move(entry));
  if (open.added_bytes > kAppendBytes) return flush_entries(false);
  return Ok{};
}

Status StagedIntake::write(const Entry& entry, std::string_view line) {
  auto& open = *open_;
  session::fold(open.row, entry);
  if (line.empty()) {
    session::append_line(lines_, entry);
  } else {
    lines_ += line;
    lines_.push_back('\n');
  }
  return lines_.size() >= kWriteBytes ? flush_lines() : Status(Ok{});
}

Status StagedIntake::flush_lines() {
  auto& open = *open_;
  if (open.file) REEF_CHECK(write_all(files_, open.file.get(), lines_));
  open.written += lines_.size();
  lines_.clear();
  if (lines_.capacity() > 4 * kWriteBytes) lines_.shrink_to_fit();
  return Ok{};
}

// Each piece ends with a mark of how far the import came. After an interruption, it separates
// imported entries from what was said here.
Status StagedIntake::flush_entries(bool last) {
  auto& open = *open_;
  session::Session::Foreign foreign;
  foreign.leaf = open.leaf;
  foreign.keep_leaf = open.aside;
  auto meta = last ? meta_of_import() : json::object{{"originMark", ""}};
  if (open.added.empty()) meta["originAside"] = open.aside;
  foreign.then = session::draft_meta(std::move(meta));
  foreign.entries = std::exchange(open.added, {});
  open.added_bytes = 0;
  if (job_.request.dry_run) return Ok{};
  REEF_TRY(auto placed, job_.append(open.id, std::move(foreign)));
  open.leaf = std::move(placed.leaf);
  // Somebody goes on with the session just now.
  open.aside = open.aside || placed.kept;
  return Ok{};
}

// ---- the end of a session ----

void StagedIntake::learn(json::object meta) {
  if (!open_) return;
  for (auto& [name, value] : meta) open_->meta[name] = std::move(value);
}

json::object StagedIntake::meta_of_import() {
  auto& open = *open_;
  json::object out;
  json::object other;
  for (auto& [name, value] : open.meta) {
    if (name == "name" || name == "key" || name == "originMark" || value.is_null()) continue;
    // A session that is already here gets only fields nobody has set.
    if (open.known && open.before.contains(name) && name != kUsageField) continue;
    if (job_.request.redact) redact(value);
    if (name == "agent" || name == "sender") {
      if (const auto* text = value.if_string(); text && session::check_part(name, *text))
        out[name] = value;
      continue;
    }
    // This would let others run commands. It is kept for a later export and has no effect here.
    if (name == "elevatedLevel" && value != json::value("off")) {
      job_.refused(Problem{open.head.path, 0,
                           fmt::format("elevatedLevel {}: reef set ID elevatedLevel=... allows it",
                                       utf8::excerpt(json::write(value), 40))});
      other[name] = value;
      continue;
    }
    if (name == kUsageField) {
      out[name] = value;
      continue;
    }
    if (is_count(name)) {
      if (value.is_int64() && value.get_int64() > 0) out[name] = value;
      continue;
    }
    if (auto* text = value.if_string(); text && text->size() > kMetaTextBytesMax)
      *text = utf8::prefix(*text, kMetaTextBytesMax);
    const auto checked = session::check_patch(json::object{{name, value}});
    if (checked) {
      out[name] = value;
    } else {
      other[name] = value;
    }
  }
  // These facts have no place of their own here.
  if (!other.empty()) {
    if (json::write(other).size() <= kOtherMetaBytesMax) {
      out["imported"] = std::move(other);
    } else {
      problem(Problem{open.head.path, 0,
                      fmt::format("more than {} bytes of facts that have no place here; left out",
                                  kOtherMetaBytesMax)});
    }
  }
  settle_claims(out);
  out["source"] = job_.request.source.name;
  out["origin"] = open.head.origin;
  const auto* unfinished = open.meta.if_contains("originMark");
  out["originMark"] = unfinished ? "" : open.head.mark;
  if (!open.other_marks.empty()) out["originMarks"] = open.other_marks;
  if (!open.parent_id.empty()) out["forkedFrom"] = open.parent_id;
  return out;
}

// A fact as it will be stored, from the head or from entries of ours.
std::string StagedIntake::fact(std::string_view name) const {
  const auto& open = *open_;
  const auto& there = open.known ? open.before : open.row.meta;
  const auto own = json::find_string(open.meta, name);
  return std::string(own ? *own : json::find_string(there, name).value_or(""));
}

void StagedIntake::settle_claims(json::object& out) {
  auto& open = *open_;
  auto& claims = open.claims;
  const auto refuse = [&](std::string why) {
    job_.refused(Problem{open.head.path, 0, std::move(why)});
  };
  const auto is_set = [&](std::string_view name) {
    return open.known && open.before.contains(name);
  };
  if (!claims.mode.empty() && !is_set("permissionMode")) {
    const auto key = open.known                                ? fact("key")
                     : open.head.of_store || job_.request.keys ? claims.key
                                                               : std::string();
    auto agent = fact("agent");
    if (const auto parsed = session::Key::parse(key); parsed && agent.empty())
      if (const auto pair = parsed->pair()) agent = pair->first;
    const auto own = job_.own_mode(agent, fact("sender"), key);
    if (claims.mode == own) {
      // It is the agent's mode already and is not written down: a sender behind a gateway may come
      // to have this session, and for such senders the agent has another mode.
    } else if (is_no_wider(claims.mode, own)) {
      out["permissionMode"] = claims.mode;
    } else {
      refuse(fmt::format("permission mode {}: the agent's own is {}; reef mode sets another",
                         utf8::excerpt(claims.mode, 40), own));
    }
  }
  if (!claims.model.empty() && !is_set("modelOverride")) {
    const json::object patch{{"modelOverride", claims.model}};
    if (open.head.of_store && session::check_patch(patch)) {
      out["modelOverride"] = claims.model;
    } else {
      refuse(fmt::format("model {}: reef set ID modelOverride=... chooses one",
                         utf8::excerpt(claims.model, 100)));
    }
  }
  if (!claims.key.empty() && !open.head.of_store && !job_.request.keys) {
    if (!open.known) refuse(fmt::format("key {}: --keys takes it", utf8::excerpt(claims.key, 200)));
    claims.key.clear();
  }
  if (!claims.rest.empty()) {
    std::string names;
    for (const auto& name : claims.rest) names += (names.empty() ? "" : ", ") + name;
    refuse("fields that allow or start something: " + utf8::excerpt(names, 400));
  }
}

std::string StagedIntake::title() {
  const auto* name = open_->meta.if_contains("name");
  if (!name || !name->is_string()) return {};
  return redacted(
      utf8::prefix(utf8::single_line(std::string_view(name->get_string())), kMetaTextBytesMax));
}

Status StagedIntake::end_fresh() {
  auto& open = *open_;
  const auto now = job_.needs().clock.now();
  const auto follow = [&](std::string_view what, session::Draft draft) {
    auto id = stable_id(fmt::format("{}#{}", open.head.origin, what));
    auto entry = session::make_entry(std::move(draft), id, open.last, now);
    open.last = std::move(id);
    return write(entry);
  };
  if (const auto name = title(); !name.empty() && open.row.name() != name)
    REEF_CHECK(follow("name", session::Draft{"session_info", json::object{{"name", name}}}));
  auto meta = meta_of_import();
  if (!open.claims.key.empty()) {
    if (const auto key = session::Key::parse(open.claims.key)) {
      meta["key"] = key->text();
      meta["boundAt"] = job_.bind(*key, open.row.updated);
      if (const auto pair = key->pair()) {
        if (!meta.contains("agent") && open.row.agent().empty()) meta["agent"] = pair->first;
        if (!meta.contains("sender") && open.row.sender().empty()) meta["sender"] = pair->second;
      }
    } else {
      problem(Problem{open.head.path, 0, key.error().what + "; the session has no key here"});
    }
  }
  REEF_CHECK(follow("import", session::draft_meta(std::move(meta))));
  REEF_CHECK(flush_lines());
  open.row.bytes = open.written;
  const std::string chosen(open.row.text("workingDirectory"));
  job_.works_in(chosen.empty() ? open.row.cwd : chosen);
  if (job_.request.dry_run) {
    ++job_.added;
    job_.release(open.head.origin);
    return Ok{};
  }
  open.file.reset();
  session::Sessions::Arrival arrival{std::move(open.row), open.folder};
  const auto head = open.head;
  open_ = nullptr;
  return job_.submit(std::move(arrival), head.origin, head.path);
}

// Counts what the source says the session used in all, beyond what its messages say.
Status StagedIntake::count_usage() {
  auto& open = *open_;
  const auto* claimed = json::find_object(open.meta, kUsageField);
  if (!claimed) return Ok{};
  const auto* before = open.known ? json::find_object(open.before, kUsageField) : nullptr;
  const auto more = [&](std::string_view field) {
    const auto was = before ? json::find_int(*before, field).value_or(0) : 0;
    return std::max<std::int64_t>(0, json::find_int(*claimed, field).value_or(0) - was);
  };
  const auto cost_of = [](const json::object* in) {
    const auto* cost = in ? in->if_contains("cost") : nullptr;
    return cost && cost->is_number() ? std::max(0.0, cost->to_number<double>()) : 0.0;
  };
  const double cost = std::max(0.0, cost_of(claimed) - cost_of(before));
  const auto input = more("input"), output = more("output");
  if (input + output == 0 && cost == 0) return Ok{};
  session::Draft draft{"usage",
                       {{"provider", job_.request.source.name},
                        {"model", json::find_string(*claimed, "model").value_or("")},
                        {"usage", json::object{{"input", input},
                                               {"output", output},
                                               {"cacheRead", 0},
                                               {"cacheWrite", 0},
                                               {"totalTokens", input + output},
                                               {"cost", json::object{{"total", cost}}}}}}};
  auto id = stable_id(fmt::format("{}#usage{}", open.head.origin, json::write(*claimed)));
  const auto time = open.row.updated > open.head.created ? open.row.updated : open.head.created;
  auto entry = session::make_entry(std::move(draft), id, open.known ? open.leaf : open.last, time);
  if (open.known && !open.added.empty()) set_parent(entry, open.added.back().id);
  open.last = std::move(id);
  if (!open.known) return write(entry);
  if (!open.ids.insert(hash_of(entry.id.text))) return Ok{};
  open.added.push_back(std::move(entry));
  return Ok{};
}

Status StagedIntake::end() {
  auto& open = *open_;
  if (open.repeated > 0)
    problem(Problem{
        open.head.path, 0,
        fmt::format("{} entries with an id that was there already; left out", open.repeated)});
  if (open.orphans > 0)
    problem(Problem{
        open.head.path, 0,
        fmt::format("{} entries whose parent was not above them; attached to the ones before",
                    open.orphans)});
  Status done = count_usage();
  if (!done) {
    abandon();
    return done;
  }
  if (!open.known) {
    done = end_fresh();
  } else {
    if (open.entries == 0) {
      if (open.first) ++job_.unchanged;
    } else {
      ++job_.continued;
    }
    done = flush_entries(true);
  }
  if (!done) {
    abandon();
    return done;
  }
  if (open_) job_.release(open_->head.origin);
  open_ = nullptr;
  return done;
}

// ---- files ----

std::string StagedIntake::scratch() const {
  return staging_of(job_.needs().home);
}

// A file of a session that is here already is a document of it; one that comes with a new session
// lies in the folder that the store takes in whole.
std::string StagedIntake::place_of(const std::string& path) const {
  return open_->known ? fmt::format("sessions/{}/{}", open_->id.text(), path)
                      : open_->folder + "/" + path;
}

Result<StagedIntake::There> StagedIntake::look(const std::string& path) {
  const auto place = place_of(path);
  if (open_->known) {
    auto document = job_.needs().documents.open(place);
    if (!document && document.error().code == Errc::not_found) return There{};
    if (!document && document.error().code == Errc::invalid) return There{true, false, 0, {}};
    if (!document) return std::move(document).error();
    const auto size = (*document)->info().bytes;
    return There{true, true, size,
                 [document = *std::move(document)](std::uint64_t from, std::uint64_t size) {
                   return document->read(from, size);
                 }};
  }
  const auto stat = files_.stat_path(place);
  if (!stat && stat.error().code == Errc::not_found) return There{};
  if (!stat) return stat.error();
  return There{true, stat->regular, stat->size,
               [this, place](std::uint64_t from, std::uint64_t size) -> Result<std::string> {
                 REEF_TRY(const Fd fd, files_.open(place, Files::Open::source));
                 return read_range(files_, fd.get(), from, size);
               }};
}

// Finds a path for a new file in the folder, relative to the session's; `same` tells whether an
// existing file holds the same bytes.
Result<StagedIntake::Spot> StagedIntake::spot_for(
    std::string_view folder, std::string_view name,
    const std::function<Result<bool>(const There&)>& same) {
  std::string below;
  // "data/archives" is two folders.
  for (std::string_view rest = folder; !rest.empty();) {
    const auto slash = rest.find('/');
    below += (below.empty() ? "" : "/") + safe_name(rest.substr(0, slash));
    if (!job_.request.dry_run && !open_->known)
      REEF_CHECK(make_folder(files_, open_->folder + "/" + below));
    rest = slash == std::string_view::npos ? std::string_view() : rest.substr(slash + 1);
  }
  const auto safe = safe_name(name);
  for (int n = 1;; ++n) {
    Spot spot{below + "/" + numbered(safe, n)};
    if (job_.request.dry_run) return spot;
    REEF_TRY(const auto there, look(spot.path));
    if (!there.taken) return spot;
    if (!there.regular) continue;
    REEF_TRY(spot.there, same(there));
    if (spot.there) return spot;
  }
}

Result<std::string> StagedIntake::put(std::string_view folder, std::string_view name,
                                      std::string_view bytes) {
  if (!open_) return Error(Errc::internal, "a file without a session");
  const auto clean = redacted(bytes);
  REEF_TRY(const auto spot, spot_for(folder, name, [&](const There& there) -> Result<bool> {
             if (there.bytes != clean.size()) return false;
             REEF_TRY(const auto other, there.read(0, there.bytes));
             return other == clean;
           }));
  if (spot.there || job_.request.dry_run) return spot.path;
  const auto place = place_of(spot.path);
  if (open_->known) {
    const auto kept = job_.needs().documents.replace(place, clean, session::Nothing{});
    if (!kept) return kept.error();
  } else {
    REEF_TRY(const Fd fd, files_.open(place, Files::Open::create));
    REEF_CHECK(write_all(files_, fd.get(), clean));
  }
  return spot.path;
}

Result<std::string> StagedIntake::copy(std::string_view folder, std::string_view name,
                                       const std::string& from) {
  if (!open_) return Error(Errc::internal, "a file without a session");
  REEF_TRY(const Fd source, files_.open(from, Files::Open::source));
  REEF_TRY(const auto stat, files_.stat(source.get()));
  if (!stat.regular) return Error(Errc::invalid, "copy " + from + ": is not a plain file");
  if (stat.size <= kWholeFileBytesMax) {
    REEF_TRY(const auto bytes, read_range(files_, source.get(), 0, stat.size));
    return put(folder, name, bytes);
  }
  if (job_.request.redact)
    problem(Problem{from, 0, "too large to be searched for secrets; copied as it is"});
  REEF_TRY(const auto spot, spot_for(folder, name, [&](const There& there) -> Result<bool> {
             if (there.bytes != stat.size) return false;
             for (std::uint64_t at = 0; at < stat.size; at += kPieceBytes) {
               if (cancelled()) return Error(Errc::cancelled, "cancelled");
               REEF_TRY(const auto ours, there.read(at, kPieceBytes));
               REEF_TRY(const auto theirs, read_range(files_, source.get(), at, kPieceBytes));
               if (ours != theirs) return false;
             }
             return true;
           }));
  if (spot.there || job_.request.dry_run) return spot.path;
  REEF_CHECK(copy_pieces(source.get(), stat.size, place_of(spot.path)));
  return spot.path;
}

Status StagedIntake::copy_pieces(int source, std::uint64_t size, const std::string& place) {
  const auto each = [&](const std::function<Status(std::string_view)>& write) -> Status {
    for (std::uint64_t at = 0; at < size;) {
      if (cancelled()) return Error(Errc::cancelled, "cancelled");
      REEF_TRY(const auto piece, read_range(files_, source, at, kPieceBytes));
      if (piece.empty()) break;
      REEF_CHECK(write(piece));
      at += piece.size();
    }
    return Ok{};
  };
  if (open_->known) {
    REEF_TRY(const auto target, job_.needs().documents.receive());
    REEF_CHECK(each([&](std::string_view piece) { return target->write(piece); }));
    const auto kept = target->keep(place, session::Nothing{});
    if (!kept) return kept.error();
    return Ok{};
  }
  // The file appears whole under its name, or not at all.
  const auto fresh = place + ".new";
  static_cast<void>(files_.remove(fresh).ok());
  {
    REEF_TRY(const Fd target, files_.open(fresh, Files::Open::create));
    REEF_CHECK(
        each([&](std::string_view piece) { return write_all(files_, target.get(), piece); }));
  }
  return files_.rename(fresh, place);
}

// ---- definitions ----

// Puts an archive into the memory of the session's agent; when it cannot be there, it becomes a
// file of the session.
Status StagedIntake::keep_archive(Definition archive) {
  if (!open_) return Error(Errc::internal, "an archive without a session");
  archive.text = redacted(archive.text);
  const auto& facts = open_->known ? open_->before : open_->meta;
  const std::string agent(json::find_string(facts, "agent").value_or(""));
  if (job_.needs().remember && !agent.empty()) {
    archive.body["agent"] = agent;
    archive.body["agent_comes"] = job_.brings_agent(agent);
    const auto kept =
        job_.request.dry_run ? Result<bool>(true) : job_.give(job_.needs().remember, archive);
    if (kept) {
      if (*kept) ++job_.definitions;
      return Ok{};
    }
    const auto code = kept.error().code;
    const bool refused = code == Errc::conflict || code == Errc::invalid ||
                         code == Errc::too_large || code == Errc::corrupt;
    if (!refused) return kept.error();
    problem(Problem{open_->head.path, 0,
                    fmt::format("{}: {}; it is in the session's data/archives", describe(archive),
                                kept.error().what)});
  }
  REEF_TRY(const auto path, put("data/archives", archive.name + ".md", archive.text));
  static_cast<void>(path);
  ++job_.definitions;
  return Ok{};
}

// The part of the daemon that keeps such definitions; nullptr when they are files of the home.
const Keeper* StagedIntake::keeper_of(Definition::Kind kind) const {
  const auto& needs = job_.needs();
  switch (kind) {
    case Definition::Kind::status:
    case Definition::Kind::label:
      return &needs.organise;
    case Definition::Kind::note:
    case Definition::Kind::archive:
      return &needs.remember;
    case Definition::Kind::subscription:
      return &needs.subscribe;
    default:
      return nullptr;
  }
}

Status StagedIntake::define(Definition definition) {
  using Kind = Definition::Kind;
  if (definition.kind == Kind::archive) return keep_archive(std::move(definition));
  if (!job_.claim(definition)) return Ok{};
  if (const auto why = definition.body.if_contains("left_out"); why && why->is_string()) {
    job_.refused(Problem{describe(definition), 0, std::string(why->get_string())});
    definition.body.erase("left_out");
  }
  if (job_.request.redact) {
    json::value body(std::move(definition.body));
    redact(body);
    definition.body = std::move(body.get_object());
    definition.text = redacted(definition.text);
  }
  const auto what = describe(definition);
  Result<bool> taken = false;
  const auto* keeper = keeper_of(definition.kind);
  if (definition.kind == Kind::note)
    definition.body["agent_comes"] =
        job_.brings_agent(std::string(json::find_string(definition.body, "agent").value_or("")));
  if (keeper) {
    if (!*keeper) {
      problem(Problem{what, 0, "not taken: this daemon keeps none"});
      return Ok{};
    }
    taken = job_.request.dry_run ? Result<bool>(true) : job_.give(*keeper, std::move(definition));
  } else {
    const std::lock_guard lock(job_.definitions_mutex());
    const bool agent = definition.kind == Kind::agent || definition.kind == Kind::skill;
    taken = keep_definition(files_, job_.needs().documents, definition, job_.request.dry_run);
    if (agent && taken && *taken && !job_.request.dry_run) job_.agents_came = true;
  }
  if (!taken) {
    // A full disk ends the import; an invalid definition is reported.
    const auto code = taken.error().code;
    if (code != Errc::invalid && code != Errc::conflict && code != Errc::not_found &&
        code != Errc::too_large && code != Errc::corrupt)
      return std::move(taken).error();
    problem(Problem{what, 0, "not taken: " + taken.error().what});
  } else if (*taken) {
    ++job_.definitions;
  }
  return Ok{};
}

void StagedIntake::problem(Problem problem) {
  job_.problem(std::move(problem));
}

void StagedIntake::consumed(std::uint64_t bytes) {
  if (counting_) job_.bytes += bytes;
}

// ---- secrets ----

bool StagedIntake::redact(json::value& value) {
  bool found = false;
  if (auto* text = value.if_string()) {
    std::string clean;
    const auto before = redactor_.count();
    found = redactor_.redact(std::string_view(*text), clean);
    if (found) {
      *text = clean;
      job_.redacted += redactor_.count() - before;
    }
  } else if (auto* list = value.if_array()) {
    for (auto& item : *list) found = redact(item) || found;
  } else if (auto* object = value.if_object()) {
    for (auto& [name, member] : *object) found = redact(member) || found;
  }
  return found;
}

std::string StagedIntake::redacted(std::string_view text) {
  if (!job_.request.redact || !utf8::valid(text)) return std::string(text);
  json::value value(text);
  redact(value);
  return std::string(value.get_string());
}

}  // namespace reef::exchange
