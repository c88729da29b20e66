// The tables of openclaw-agent.sqlite. They are looked up, because versions differ.
//   transcript_events(session_id, seq, event_json, ...)      event_json is one line of a transcript
//   session_entries, sessions(session_key, session_id, entry_json, ...)

#include <fcntl.h>
#include <set>
#include <unistd.h>

#include <fmt/format.h>
#include <sqlite3.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "exchange/clawdbot/clawdbot.h"
#include "exchange/foreign_file.h"
#include "exchange/pi/pi.h"

namespace reef::exchange {
namespace {

constexpr std::size_t kCopyBytes = 1U << 20;

struct CloseDatabase {
  void operator()(sqlite3* db) const { sqlite3_close(db); }
};
struct CloseStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, CloseStatement>;

std::string_view text_at(sqlite3_stmt* row, int column) {
  const auto* text = static_cast<const char*>(sqlite3_column_blob(row, column));
  return text ? std::string_view(text, static_cast<std::size_t>(sqlite3_column_bytes(row, column)))
              : std::string_view();
}

// A database, or a copy of one that is removed with this object.
class Database {
 public:
  Database() = default;
  Database(Database&&) = default;
  Database& operator=(Database&&) = delete;
  ~Database() {
    db_.reset();
    if (copy_.empty()) return;
    for (const char* name : {"/db", "/db-wal", "/db-shm", ""}) ::remove((copy_ + name).c_str());
  }

  // A database that must be copied to be read gets a folder of its own in `scratch`.
  static Result<Database> open(Files& files, const std::string& path, const std::string& scratch) {
    Database out;
    const auto log = files.stat_path(path + "-wal");
    auto from = path;
    if (log && log->size > 0) {
      // Reading what is only in the log would write files beside the database, so a copy is read.
      REEF_CHECK(out.copy(files, path, scratch));
      from = out.copy_ + "/db";
    }
    std::string uri = "file:";
    for (const char c : from)
      if (c == '%' || c == '?' || c == '#') {
        uri += fmt::format("%{:02x}", static_cast<unsigned>(c));
      } else {
        uri.push_back(c);
      }
    if (out.copy_.empty()) uri += "?mode=ro&immutable=1";
    sqlite3* db = nullptr;
    const int flags = (out.copy_.empty() ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE) |
                      SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX;
    const int opened = sqlite3_open_v2(uri.c_str(), &db, flags, nullptr);
    out.db_.reset(db);
    if (opened != SQLITE_OK) return out.failure("open " + path);
    // A hostile file must not run code of its own.
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    return out;
  }

  Result<Statement> prepare(const std::string& sql) const {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(db_.get(), sql.c_str(), -1, &statement, nullptr) != SQLITE_OK)
      return failure("read the database");
    return Statement(statement);
  }
  // False behind the last row.
  Result<bool> step(const Statement& statement) const {
    const int done = sqlite3_step(statement.get());
    if (done == SQLITE_ROW) return true;
    if (done == SQLITE_DONE) return false;
    return failure("read the database");
  }
  std::set<std::string> columns(const std::string& table) const {
    std::set<std::string> out;
    auto statement = prepare(fmt::format("SELECT name FROM pragma_table_info('{}')", table));
    if (!statement) return out;
    for (;;) {
      const auto row = step(*statement);
      if (!row || !*row) return out;
      out.emplace(text_at(statement->get(), 0));
    }
  }

 private:
  Error failure(std::string_view what) const {
    return Error(Errc::corrupt,
                 fmt::format("{}: {}", what, db_ ? sqlite3_errmsg(db_.get()) : "no memory"));
  }

  Status copy(Files& files, const std::string& path, const std::string& scratch) {
    if (scratch.empty())
      return Error(Errc::unsupported,
                   path + " has a log of changes, and there is no place to read it");
    REEF_CHECK(make_directories(files, scratch));
    auto name = scratch + "/database-XXXXXX";
    if (!::mkdtemp(name.data())) return sys_error(errno, "make a temporary folder");
    copy_ = name;
    for (const std::string_view suffix : {"", "-wal"}) {
      REEF_TRY(const Fd from, open_source(files, path + std::string(suffix)));
      REEF_TRY(const Fd to, files.open(copy_ + "/db" + std::string(suffix), Files::Open::create));
      for (std::uint64_t at = 0;;) {
        REEF_TRY(const auto piece, read_range(files, from.get(), at, kCopyBytes));
        if (piece.empty()) break;
        REEF_CHECK(write_all(files, to.get(), piece));
        at += piece.size();
      }
    }
    return Ok{};
  }

  std::unique_ptr<sqlite3, CloseDatabase> db_;
  std::string copy_;
};

// Reads the entry of each session; the last one that names a session counts.
std::map<std::string, ClawdbotEntry> read_entries(const Database& db, const std::string& path,
                                                  Intake& intake) {
  std::map<std::string, ClawdbotEntry> out;
  for (const std::string table : {"sessions", "session_entries"}) {
    const auto columns = db.columns(table);
    if (!columns.contains("session_key")) continue;
    const bool has_id = columns.contains("session_id");
    const bool has_entry = columns.contains("entry_json");
    if (!has_id && !has_entry) continue;
    auto rows =
        db.prepare(fmt::format("SELECT session_key, {}, {} FROM {}", has_id ? "session_id" : "NULL",
                               has_entry ? "entry_json" : "NULL", table));
    for (;;) {
      const auto row = rows ? db.step(*rows) : Result<bool>(rows.error());
      if (!row) intake.problem(Problem{path, 0, row.error().what});
      if (!row || !*row) break;
      ClawdbotEntry entry{utf8::sanitize(text_at(rows->get(), 0)), {}};
      std::string id(text_at(rows->get(), 1));
      if (auto body = json::parse_lenient(text_at(rows->get(), 2)); body && body->is_object())
        entry.body = std::move(body->get_object());
      if (id.empty()) id = json::find_string(entry.body, "sessionId").value_or("");
      if (!id.empty()) out.insert_or_assign(utf8::sanitize(id), std::move(entry));
    }
  }
  return out;
}

Status read_events(const Database& db, const std::string& path, const std::string& session,
                   Head head, Intake& intake) {
  auto rows =
      db.prepare("SELECT event_json FROM transcript_events WHERE session_id = ? ORDER BY seq");
  if (!rows) {
    intake.problem(Problem{path, 0, rows.error().what});
    return Ok{};
  }
  sqlite3_bind_text(rows->get(), 1, session.data(), static_cast<int>(session.size()),
                    SQLITE_TRANSIENT);
  const auto name = path + "#" + session;
  head.path = name;
  std::optional<PiEntries> entries;
  std::uint64_t number = 0;
  for (;;) {
    if (intake.cancelled()) return Error(Errc::cancelled, "cancelled");
    const auto row = db.step(*rows);
    if (!row) {
      intake.problem(Problem{name, number, row.error().what});
      if (!entries) return Ok{};
      intake.learn(json::object{{"originMark", nullptr}});
      break;
    }
    if (!*row) break;
    const auto text = text_at(rows->get(), 0);
    ++number;
    if (!entries) {
      // The first event is the header, where there is one.
      std::optional<session::Header> header;
      if (const auto parsed = json::parse_lenient(text); parsed && parsed->is_object())
        header = session::header_from(parsed->get_object());
      if (header) {
        head.created = header->time;
        head.cwd = header->cwd;
      } else if (const auto parsed = json::parse_lenient(text); parsed && parsed->is_object()) {
        head.created = parse_iso(json::find_string(parsed->get_object(), "timestamp").value_or(""))
                           .value_or(TimePoint());
      }
      const auto created = head.created;
      REEF_TRY(const bool wanted, intake.begin(std::move(head)));
      if (!wanted) return Ok{};
      entries.emplace(intake, name, header ? header->version : session::Header::kVersion, created);
      intake.consumed(text.size());
      if (header) continue;
    } else {
      intake.consumed(text.size());
    }
    REEF_CHECK(entries->line(text, number, true));
  }
  return entries ? intake.end() : Status(Ok{});
}

}  // namespace

Status read_clawdbot_database(Files& files, const std::string& path, const std::string& agent,
                              Intake& intake) {
  const auto db = Database::open(files, path, intake.scratch());
  if (!db) {
    intake.problem(Problem{path, 0, db.error().what});
    return Ok{};
  }
  const auto columns = db->columns("transcript_events");
  for (const auto* needed : {"session_id", "seq", "event_json"})
    if (!columns.contains(needed)) {
      intake.problem(Problem{path, 0, "no transcripts in it that could be read"});
      return Ok{};
    }
  const auto entries = read_entries(*db, path, intake);
  auto rows = db->prepare(fmt::format(
      "SELECT session_id, COUNT(*), MAX(seq), {} FROM transcript_events GROUP BY session_id",
      columns.contains("created_at") ? "MAX(created_at)" : "0"));
  for (;;) {
    const auto row = rows ? db->step(*rows) : Result<bool>(rows.error());
    if (!row) intake.problem(Problem{path, 0, row.error().what});
    if (!row || !*row) break;
    const std::string session(text_at(rows->get(), 0));
    Head head;
    head.of_store = true;
    head.id = utf8::sanitize(session);
    head.origin = fmt::format("clawdbot:{}:{}", agent, head.id);
    head.mark = fmt::format("{}-{}-{}", text_at(rows->get(), 1), text_at(rows->get(), 2),
                            text_at(rows->get(), 3));
    const auto entry = entries.find(head.id);
    head.meta = clawdbot_meta(agent, entry == entries.end() ? ClawdbotEntry{} : entry->second);
    REEF_CHECK(read_events(*db, path, session, std::move(head), intake));
  }
  if (!db->columns("session_transcript_archives").empty()) {
    auto count = db->prepare("SELECT COUNT(*) FROM session_transcript_archives");
    const auto row = count ? db->step(*count) : Result<bool>(false);
    if (row && *row && sqlite3_column_int64(count->get(), 0) > 0)
      intake.problem(
          Problem{path, 0,
                  fmt::format("{} deleted session(s) are kept in it compressed; not read",
                              sqlite3_column_int64(count->get(), 0))});
  }
  return Ok{};
}

}  // namespace reef::exchange
