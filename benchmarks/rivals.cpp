#include "rivals.h"

#include <algorithm>
#include <filesystem>
#include <memory>

#include <fmt/format.h>
#include <sqlite3.h>
#include <xapian.h>

#include "process.h"

namespace reef::benchmarks {
namespace {

constexpr int kRows = 20;
// The size of a window.
constexpr int kAround = 4;
constexpr std::size_t kShownBytes = 1024;
constexpr double kMiB = 1024.0 * 1024.0;

double size_of(const std::string& path) {
  double bytes = 0;
  std::error_code failed;
  if (!std::filesystem::is_directory(path, failed))
    return static_cast<double>(std::filesystem::file_size(path, failed)) / kMiB;
  for (const auto& file : std::filesystem::recursive_directory_iterator(path, failed))
    if (file.is_regular_file(failed)) bytes += static_cast<double>(file.file_size(failed));
  return bytes / kMiB;
}

struct CloseDatabase {
  void operator()(sqlite3* database) const { sqlite3_close(database); }
};
struct FinishStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, FinishStatement>;

Error sqlite_error(sqlite3* database) {
  return {Errc::io, fmt::format("SQLite: {}", sqlite3_errmsg(database))};
}

Result<Statement> make_statement(sqlite3* database, const char* sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(database, sql, -1, &statement, nullptr) != SQLITE_OK)
    return sqlite_error(database);
  return Statement(statement);
}

}  // namespace

Result<Rival> measure_sqlite(const Corpus& corpus, const std::string& scratch,
                             const std::vector<std::vector<std::string>>& queries) {
  Rival out{.name = "SQLite FTS5"};
  const auto path = scratch + "/fts5.db";
  sqlite3* opened = nullptr;
  const int code = sqlite3_open(path.c_str(), &opened);
  const std::unique_ptr<sqlite3, CloseDatabase> database(opened);
  if (code != SQLITE_OK) return sqlite_error(database.get());
  const auto run = [&](const char* sql) -> Status {
    if (sqlite3_exec(database.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK)
      return sqlite_error(database.get());
    return Ok{};
  };
  const auto began = now();
  REEF_CHECK(
      run("pragma synchronous=off; pragma cache_size=-65536;"
          "create table texts(id integer primary key, t text);"
          "create virtual table m using fts5(t, content='', tokenize='porter unicode61');"
          "begin"));
  REEF_TRY(const auto insert,
           make_statement(database.get(), "insert into m(rowid, t) values(?1, ?2)"));
  REEF_TRY(const auto keep,
           make_statement(database.get(), "insert into texts(id, t) values(?1, ?2)"));
  sqlite3_int64 row = 0;
  bool failed = false;
  corpus.each([&](const CorpusMessage& message) {
    if (failed || !check_interrupted()) return;
    ++row;
    for (auto* statement : {insert.get(), keep.get()}) {
      sqlite3_bind_int64(statement, 1, row);
      sqlite3_bind_text(statement, 2, message.text.data(), static_cast<int>(message.text.size()),
                        SQLITE_STATIC);
      failed = failed || sqlite3_step(statement) != SQLITE_DONE;
      sqlite3_reset(statement);
    }
  });
  if (failed) return sqlite_error(database.get());
  REEF_CHECK(run("commit"));
  REEF_CHECK(run("insert into m(m) values('optimize')"));
  out.build = now() - began;
  out.mib = size_of(path);

  REEF_TRY(const auto search,
           make_statement(database.get(),
                          "select rowid from m where m match ?1 order by rank limit 20"));
  REEF_TRY(const auto window,
           make_statement(database.get(),
                          "select substr(t, 1, ?3) from texts where id between ?1 and ?2"));
  settle();
  Rounds searches(queries.size()), with_windows(queries.size());
  for (std::size_t round = 0; round <= kQueryRounds; ++round)
    for (std::size_t q = 0; q < queries.size(); ++q) {
      REEF_CHECK(check_interrupted());
      std::string words;
      for (const auto& word : queries[q]) words += (words.empty() ? "\"" : " OR \"") + word + "\"";
      const auto start = now();
      sqlite3_bind_text(search.get(), 1, words.data(), static_cast<int>(words.size()),
                        SQLITE_STATIC);
      std::vector<sqlite3_int64> found;
      while (sqlite3_step(search.get()) == SQLITE_ROW)
        found.push_back(sqlite3_column_int64(search.get(), 0));
      sqlite3_reset(search.get());
      const auto searched = now();
      std::vector<std::string> texts;
      for (const auto one : found) {
        sqlite3_bind_int64(window.get(), 1, one - kAround);
        sqlite3_bind_int64(window.get(), 2, one + kAround);
        sqlite3_bind_int64(window.get(), 3, kShownBytes);
        while (sqlite3_step(window.get()) == SQLITE_ROW)
          texts.emplace_back(reinterpret_cast<const char*>(sqlite3_column_text(window.get(), 0)),
                             static_cast<std::size_t>(sqlite3_column_bytes(window.get(), 0)));
        sqlite3_reset(window.get());
      }
      if (round == 0) continue;
      searches.add(q, searched - start);
      with_windows.add(q, now() - start);
    }
  out.searches = searches.medians();
  out.with_windows = with_windows.medians();
  return out;
}

Result<Rival> measure_xapian(const Corpus& corpus, const std::string& scratch,
                             const std::vector<std::vector<std::string>>& queries) {
  Rival out{.name = "Xapian"};
  const auto path = scratch + "/xapian";
  try {
    const auto began = now();
    const Xapian::Stem stem("english");
    {
      Xapian::WritableDatabase database(path, Xapian::DB_CREATE | Xapian::DB_NO_SYNC);
      Xapian::TermGenerator terms;
      terms.set_stemmer(stem);
      corpus.each([&](const CorpusMessage& message) {
        if (!check_interrupted()) return;
        Xapian::Document document;
        document.set_data(std::string(message.text));
        terms.set_document(document);
        terms.index_text_without_positions(std::string(message.text));
        database.add_document(document);
      });
      database.commit();
    }
    out.build = now() - began;
    out.mib = size_of(path);
    Xapian::Database database(path);
    Xapian::Enquire enquire(database);
    enquire.set_weighting_scheme(Xapian::BM25Weight(1.2, 0, 1, 0.75, 0.5));
    settle();
    Rounds searches(queries.size()), with_windows(queries.size()), with_marks(queries.size());
    for (std::size_t round = 0; round <= kQueryRounds; ++round)
      for (std::size_t q = 0; q < queries.size(); ++q) {
        REEF_CHECK(check_interrupted());
        const auto start = now();
        std::vector<std::string> words;
        for (const auto& word : queries[q]) words.push_back("Z" + stem(word));
        enquire.set_query(Xapian::Query(Xapian::Query::OP_OR, words.begin(), words.end()));
        const auto found = enquire.get_mset(0, kRows);
        std::vector<Xapian::docid> rows;
        for (auto row = found.begin(); row != found.end(); ++row) rows.push_back(*row);
        const auto searched = now();
        std::vector<std::string> texts;
        for (const auto row : rows)
          for (auto one = row > kAround ? row - kAround : 1;
               one <= std::min(row + kAround, database.get_lastdocid()); ++one)
            texts.push_back(database.get_document(one).get_data().substr(0, kShownBytes));
        const auto shown = now();
        // The least work that Xapian's snippets allow.
        constexpr unsigned kPlainly = 0;
        for (const auto row : rows)
          texts.push_back(
              found.snippet(database.get_document(row).get_data(), kShownBytes, stem, kPlainly));
        if (round == 0) continue;
        searches.add(q, searched - start);
        with_windows.add(q, shown - start);
        with_marks.add(q, now() - start);
      }
    out.searches = searches.medians();
    out.with_windows = with_windows.medians();
    out.with_marks = with_marks.medians();
  } catch (const Xapian::Error& error) {
    return Error(Errc::io, "Xapian: " + error.get_msg());
  }
  return out;
}

}  // namespace reef::benchmarks
