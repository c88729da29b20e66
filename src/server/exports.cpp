// Export: sessions leave as files of another format, one session at a time and at the pace of
// whoever reads.

#include <fmt/format.h>

#include "base/pool.h"
#include "base/utf8.h"
#include "exchange/archive/spool.h"
#include "exchange/sources.h"
#include "organise/definitions.h"
#include "server/operations.h"
#include "server/server.h"
#include "server/sessions.h"
#include "session/documents.h"
#include "session/reader.h"
#include "session/session.h"
#include "session/transcripts.h"

namespace reef::server {
namespace {

struct ExportsNeeds {
  session::Sessions& sessions;
  session::Transcripts& store;
  session::Documents& documents;
  organise::Definitions& definitions;
  Pool& pool;
  const std::string& home;
  Clock& clock;
  static ExportsNeeds of(const Node& node) {
    return {node.sessions, node.store, node.documents, node.definitions,
            node.pool,     node.home,  node.clock};
  }
};

constexpr std::size_t kSessionFilesMax = 100'000;

// What lies in the folders of a session, in the order of their names.
Result<std::vector<exchange::Exported::File>> files_of(session::Documents& documents,
                                                       const session::SessionId& id) {
  constexpr std::size_t kNamesAtOnce = 1000;
  const auto folder = fmt::format("sessions/{}/", id.text());
  std::vector<exchange::Exported::File> files;
  for (std::string cursor;;) {
    REEF_TRY(auto page, documents.list(folder, kNamesAtOnce, cursor));
    for (auto& one : page.documents)
      if (files.size() < kSessionFilesMax)
        files.push_back({one.name.substr(folder.size()), one.name, one.bytes});
    if (page.cursor.empty() || files.size() >= kSessionFilesMax) return files;
    cursor = std::move(page.cursor);
  }
}

// Cuts the bytes after the last whole line; an entry that only lacks its newline gets it.
void end_with_line(std::string& bytes) {
  if (bytes.empty() || bytes.ends_with('\n')) return;
  const auto newline = bytes.rfind('\n');
  const auto start = newline == std::string::npos ? 0 : newline + 1;
  if (session::read_transcript(std::string_view(bytes).substr(start)).tail_is_entry) {
    bytes.push_back('\n');
  } else {
    bytes.resize(start);
  }
}

class ExportStream final : public protocol::MessageStream {
 public:
  ExportStream(ExportsNeeds needs, const exchange::Format& format,
               std::vector<session::SessionId> ids)
      : needs_(needs), ids_(std::move(ids)), spool_(needs.home), writer_(format.make(spool_)) {}

  Task<std::optional<protocol::ServerMessage>> next() override {
    for (;;) {
      if (done_) co_return std::nullopt;
      auto take = [this] { return spool_.take(kDataPerMessage); };
      auto piece = co_await needs_.pool.run(take);
      if (!piece) co_return fail(piece.error());
      if (*piece) co_return message_of(std::move(**piece));
      if (finished_) co_return summary();
      const auto made = co_await make_more();
      if (!made) co_return fail(made.error());
    }
  }

 private:
  // Adds the next session to the spool, or what comes behind the last one.
  Task<Status> make_more() {
    if (at_ < ids_.size()) {
      const auto id = ids_[at_++];
      co_return co_await add(id);
    }
    finished_ = true;
    auto finish = [this] { return writer_->finish(); };
    co_return co_await needs_.pool.run(finish);
  }

  Task<Status> add(session::SessionId id) {
    co_await needs_.sessions.update(id);
    const auto* known = needs_.sessions.find(id);
    if (!known) co_return Ok{};  // trashed meanwhile
    const auto row = *known;
    auto bytes = co_await needs_.store.read(id);
    if (!bytes && bytes.error().code == Errc::not_found) co_return Ok{};
    if (!bytes) {
      problems_.push_back(fmt::format("{}: {}", id.text(), bytes.error().what));
      co_return Ok{};
    }
    ++sessions_;
    auto work = [&]() -> Status {
      end_with_line(*bytes);
      const session::Transcript transcript(session::read_transcript(*bytes));
      auto files = files_of(needs_.documents, id);
      // One of a store in memory, or trashed just now, has none.
      if (!files && files.error().code == Errc::not_found)
        files = std::vector<exchange::Exported::File>();
      if (!files) return std::move(files).error();
      return writer_->add(
          exchange::Exported{row, transcript, *std::move(files), *bytes, &needs_.documents});
    };
    auto added = co_await needs_.pool.run(work);
    if (!added) co_return std::move(added).error().with("export " + id.text());
    co_return added;
  }

  protocol::ServerMessage message_of(exchange::Spool::Piece piece) {
    if (!piece.path.empty()) ++files_;
    bytes_ += piece.data.size();
    protocol::ServerMessage message;
    auto& out = *message.mutable_file_piece();
    out.set_path(std::move(piece.path));
    out.set_data(std::move(piece.data));
    out.set_ends(piece.ends);
    return message;
  }

  protocol::ServerMessage summary() {
    done_ = true;
    protocol::ServerMessage message;
    auto& out = *message.mutable_file_piece();
    out.set_last(true);
    out.set_sessions(sessions_);
    out.set_files(files_);
    out.set_bytes(bytes_);
    for (auto& problem : problems_) out.add_problems(utf8::sanitize(problem));
    return message;
  }

  protocol::ServerMessage fail(const Error& error) {
    done_ = true;
    return protocol::make_error(error);
  }

  ExportsNeeds needs_;
  const std::vector<session::SessionId> ids_;
  std::size_t at_ = 0;
  exchange::Spool spool_;
  std::unique_ptr<exchange::Writer> writer_;
  bool finished_ = false;
  bool done_ = false;
  std::uint64_t sessions_ = 0, files_ = 0, bytes_ = 0;
  std::vector<std::string> problems_;
};

// The sessions that the request names, or those a list would show.
Result<std::vector<session::SessionId>> chosen(ExportsNeeds needs,
                                               const protocol::ExportSessions& in) {
  std::vector<session::SessionId> ids;
  for (const auto& text : in.ids()) {
    REEF_TRY(auto id, known_session(needs.sessions, text));
    if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(std::move(id));
  }
  if (!ids.empty()) return ids;
  REEF_TRY(const auto query, query_from(needs.definitions.known(), in.query(), needs.clock.now()));
  REEF_TRY(const auto page, needs.sessions.list(query));
  for (const auto* row : page.rows) ids.push_back(row->id);
  return ids;
}

// The session a key is bound to comes after those it was bound to before.
void put_oldest_first(ExportsNeeds needs, std::vector<session::SessionId>& ids) {
  const auto rank = [&](const session::SessionId& id) {
    const auto* row = needs.sessions.find(id);
    return row ? std::pair(row->bound_at(), unix_millis(row->created))
               : std::pair(INT64_C(0), INT64_C(0));
  };
  std::stable_sort(ids.begin(), ids.end(),
                   [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
}

protocol::Answer answer_export(ExportsNeeds needs, const protocol::ExportSessions& request) {
  const auto format = exchange::find_format(request.format());
  if (!format) return protocol::answer_with(format.error());
  auto ids = chosen(needs, request);
  if (!ids) return protocol::answer_with(ids.error());
  if ((*format)->oldest_first) put_oldest_first(needs, *ids);
  return std::make_unique<ExportStream>(needs, **format, *std::move(ids));
}

}  // namespace

Operations exports_operations() {
  using M = protocol::ClientMessage;
  using protocol::Right;
  static constexpr Operation kRows[] = {
      {M::kExportSessions, Right::admin, Messages::many, Naming::none,
       answered<&M::export_sessions, answer_export>},
  };
  return kRows;
}

}  // namespace reef::server
