#include "exchange/staging.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/log.h"
#include "base/utf8.h"
#include "exchange/staged_session.h"

namespace reef::exchange {
namespace {

using session::Entry;

constexpr std::size_t kWriteBytes = 1U << 20;
// Entries for a session that is already here are appended in pieces of this size.
constexpr std::size_t kAppendBytes = 4U << 20;
constexpr std::size_t kPieceBytes = 1U << 20;
// Files up to this size are read at once, to be compared and searched for secrets.
constexpr std::uint64_t kWholeFileBytesMax = 8U << 20;
constexpr int kTreeDepthMax = 16;

bool is_conversation(const Entry& entry) {
  for (const auto type :
       {"message", "custom_message", "compaction", "branch_summary", "context_edit"})
    if (entry.type == type) return true;
  return false;
}

bool is_rewind(const Entry& entry) {
  return json::find_string(entry.body, "customType") == "reef.rewind";
}

Status remove_below(Files& files, const std::string& path, int depth) {
  auto removed = files.remove(path);
  if (removed || removed.error().code == Errc::not_found) return Ok{};
  const auto names = files.list(path);
  if (!names || depth == 0) return removed;
  for (const auto& name : *names) REEF_CHECK(remove_below(files, path + "/" + name, depth - 1));
  return files.remove(path);
}

}  // namespace

void set_parent(Entry& entry, std::optional<session::EntryId> parent) {
  entry.body["parentId"] = parent ? json::value(parent->text) : json::value(nullptr);
  entry.parent = std::move(parent);
}

std::string staging_of(const std::string& home) {
  return home + "/staging";
}

Status remove_tree(Files& files, const std::string& path) {
  return remove_below(files, path, kTreeDepthMax);
}

Status clear_staging(Files& files, const std::string& home) {
  return remove_tree(files, staging_of(home));
}

// ---- the session being read ----

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

StagedFiles StagedIntake::staged_files() {
  return {job_, open_->id, open_->known, open_->folder};
}

Result<std::string> StagedIntake::put(std::string_view folder, std::string_view name,
                                      std::string_view bytes) {
  if (!open_) return Error(Errc::internal, "a file without a session");
  return staged_files().put(folder, name, redacted(bytes));
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
  return staged_files().copy(folder, name, source.get(), stat.size);
}

// ---- reports ----

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
