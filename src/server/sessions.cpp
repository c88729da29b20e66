// Sessions: list, read, follow.

#include "server/sessions.h"

#include <array>

#include <fmt/format.h>

#include "base/utf8.h"
#include "organise/definitions.h"
#include "server/operations.h"
#include "server/server.h"
#include "session/pages.h"
#include "session/session.h"
#include "session/transcripts.h"

namespace reef::server {
namespace {

struct SessionsNeeds {
  session::Sessions& sessions;
  session::Transcripts& store;
  organise::Definitions& definitions;
  Clock& clock;
  static SessionsNeeds of(const Node& node) {
    return {node.sessions, node.store, node.definitions, node.clock};
  }
};

constexpr std::size_t kRowsPerMessage = 500;
// How often a followed transcript is looked at when nobody here writes to it.
constexpr std::chrono::seconds kFollowStep{1};

// Status and label are tested against the definitions, as those of a filter are.
RowFilter with_status_and_label(std::shared_ptr<const organise::Defined> defined, RowFilter filter,
                                const protocol::ListSessions& in) {
  if (in.status().empty() && in.label().empty()) return filter;
  return [defined = std::move(defined), filter = std::move(filter), status = in.status(),
          label = in.label()](const session::Row& row) {
    if (!status.empty() && defined->statuses.shown(row.text("sessionStatus")) != status)
      return false;
    if (!label.empty() && !organise::has_label(row, label, defined->labels)) return false;
    return !filter || filter(row);
  };
}

// Sends a long list in several messages. Each is made when it is asked for, so that a slow reader
// holds no copy of the list.
class RowStream final : public protocol::MessageStream {
 public:
  RowStream(SessionsNeeds needs, protocol::ListSessions request)
      : needs_(needs), request_(std::move(request)), left_(request_.limit()) {}

  Task<std::optional<protocol::ServerMessage>> next() override {
    if (done_) co_return std::nullopt;
    if (!begun_) {
      begun_ = true;
      auto query = query_from(co_await needs_.definitions.look(), request_, needs_.clock.now());
      if (!query) {
        done_ = true;
        co_return protocol::make_error(query.error());
      }
      query_ = *std::move(query);
    }
    const bool limited = query_.limit > 0;
    auto part = query_;
    part.limit = limited ? std::min(left_, kRowsPerMessage) : kRowsPerMessage;
    const auto page = needs_.sessions.list(part);
    if (!page) {
      done_ = true;
      co_return protocol::make_error(page.error());
    }
    protocol::ServerMessage message;
    auto& list = *message.mutable_session_list();
    for (const auto* row : page->rows) server::fill(*list.add_sessions(), *row, needs_.definitions);
    left_ -= std::min(left_, page->rows.size());
    query_.cursor = page->cursor;
    done_ = page->cursor.empty() || (limited && left_ == 0);
    list.set_last(done_);
    list.set_cursor(page->cursor);
    list.set_total(page->total);
    co_return message;
  }

 private:
  SessionsNeeds needs_;
  protocol::ListSessions request_;
  session::Query query_;
  std::size_t left_;
  bool begun_ = false;
  bool done_ = false;
};

// Sends the transcript to its end, whoever wrote it, in pieces that are read when asked for.
class TranscriptStream final : public protocol::MessageStream {
 public:
  TranscriptStream(SessionsNeeds needs, session::SessionId id)
      : needs_(needs), id_(std::move(id)) {}

  Task<std::optional<protocol::ServerMessage>> next() override {
    if (done_) co_return std::nullopt;
    protocol::ServerMessage message;
    auto& data = *message.mutable_session_data();
    if (at_ == 0) {
      static_cast<void>(co_await needs_.definitions.look());
      co_await needs_.sessions.update(id_);
      if (const auto* row = needs_.sessions.find(id_)) {
        server::fill(*data.mutable_session(), *row, needs_.definitions);
        if (row->flag("hasUnread")) needs_.sessions.note(id_, {{"hasUnread", nullptr}});
      }
    }
    auto piece = co_await needs_.store.read(id_, at_, kDataPerMessage);
    if (!piece) {
      done_ = true;
      co_return protocol::make_error(piece.error());
    }
    at_ += piece->size();
    done_ = piece->size() < kDataPerMessage;
    data.set_data(*std::move(piece));
    data.set_last(done_);
    co_return message;
  }

 private:
  SessionsNeeds needs_;
  session::SessionId id_;
  std::uint64_t at_ = 0;
  bool done_ = false;
};

// A page of entries, from either end or beside one; nothing else of the transcript is read.
constexpr std::uint32_t kPageMax = 1000;

Task<protocol::ServerMessage> read_page(SessionsNeeds needs, session::SessionId id,
                                        protocol::ReadSession request) {
  const bool before = !request.before().empty();
  const bool after = request.has_after();
  if (before && after)
    co_return protocol::make_error(Error(Errc::invalid, "a page is before an entry or after one"));
  static_cast<void>(co_await needs.definitions.look());
  co_await needs.sessions.update(id);
  const auto* row = needs.sessions.find(id);
  if (!row) co_return protocol::make_error(session::no_session(id));
  const auto size = row->bytes;
  protocol::ServerMessage message;
  auto& data = *message.mutable_session_data();
  server::fill(*data.mutable_session(), *row, needs.definitions);
  const auto name = after ? request.after() : request.before();
  std::uint64_t at = after ? 0 : size;
  if (!name.empty()) {
    const auto line = co_await session::find_line(needs.store, id, name, size);
    if (!line) co_return protocol::make_error(line.error());
    if (!*line)
      co_return protocol::make_error(
          Error(Errc::not_found,
                fmt::format("no entry '{}' in session {}", utf8::excerpt(name), id.text())));
    at = after ? (*line)->at + (*line)->bytes : (*line)->at;
  } else if (!after && row->flag("hasUnread")) {
    needs.sessions.note(id, {{"hasUnread", nullptr}});
  }
  session::PageLimits limits{.lines_max = std::min(request.limit(), kPageMax)};
  const auto page = after ? co_await session::lines_after(needs.store, id, at, limits)
                          : co_await session::lines_before(needs.store, id, at, limits);
  if (!page) co_return protocol::make_error(page.error());
  for (const auto& line : page->lines) fill_entry(*data.add_entries(), line);
  data.set_last(true);
  if (!page->lines.empty()) {
    if (!page->begins) data.set_before(session::place_name(page->lines.front()));
    data.set_after(session::place_name(page->lines.back()));
  } else if (after) {
    data.set_after(name);
  }
  co_return message;
}

class FollowStream final : public protocol::MessageStream {
 public:
  FollowStream(SessionsNeeds needs, session::SessionId id, std::uint64_t from)
      : needs_(needs), id_(std::move(id)), at_(from) {}

  Task<std::optional<protocol::ServerMessage>> next() override {
    for (;;) {
      if (done_) co_return std::nullopt;
      auto piece = co_await needs_.store.read(id_, at_, kDataPerMessage);
      if (!piece) {
        done_ = true;
        co_return protocol::make_error(piece.error());
      }
      if (!piece->empty()) {
        at_ += piece->size();
        protocol::ServerMessage message;
        message.mutable_session_data()->set_data(*std::move(piece));
        co_return message;
      }
      co_await needs_.sessions.wait_for_append(kFollowStep);
    }
  }

 private:
  SessionsNeeds needs_;
  session::SessionId id_;
  std::uint64_t at_;
  bool done_ = false;
};

Task<protocol::ServerMessage> list_trash(SessionsNeeds needs) {
  const auto trashed = co_await needs.store.trashed();
  if (!trashed) co_return protocol::make_error(trashed.error());
  protocol::ServerMessage message;
  message.mutable_trash_list();
  for (const auto& session : *trashed) message.mutable_trash_list()->add_ids(session.id.text());
  co_return message;
}

}  // namespace

Result<RowFilter> row_filter(std::shared_ptr<const organise::Defined> defined,
                             const std::string& view, const std::string& where, TimePoint now) {
  organise::Filter filter;
  if (!view.empty()) {
    REEF_TRY(const auto* found, defined->views.find(view));
    if (!found->parsed.parts.empty() || found->parsed.kind == organise::Filter::Kind::term)
      filter.parts.push_back(found->parsed);
  }
  if (where.find_first_not_of(" \t\r\n") != std::string::npos) {
    REEF_TRY(auto typed, organise::parse_filter(where));
    REEF_CHECK(organise::check_filter(typed, defined->statuses, defined->labels));
    filter.parts.push_back(std::move(typed));
  }
  // Without anything to compare there is no test: the list of everything is the fastest.
  if (filter.parts.empty()) return RowFilter();
  return RowFilter(
      [defined = std::move(defined), filter = std::move(filter), now](const session::Row& row) {
        return organise::holds(filter, row, {defined->statuses, defined->labels, now});
      });
}

Result<session::Query> query_from(std::shared_ptr<const organise::Defined> defined,
                                  const protocol::ListSessions& in, TimePoint now) {
  session::Query query;
  REEF_TRY(auto filter, row_filter(defined, in.view(), in.where(), now));
  query.where = with_status_and_label(std::move(defined), std::move(filter), in);
  query.agent = in.agent();
  query.sender = in.sender();
  query.key = in.key();
  query.text = in.text();
  query.source = in.source();
  if (in.has_flagged()) query.flagged = in.flagged();
  if (in.has_archived()) query.archived = in.archived();
  if (in.has_unread()) query.unread = in.unread();
  for (const auto& [text, into] :
       {std::pair(&in.after(), &query.after), std::pair(&in.before(), &query.before)}) {
    if (text->empty()) continue;
    *into = parse_iso(*text);
    if (!*into)
      return Error(Errc::invalid, fmt::format("'{}' is not a time like 2026-01-31T12:00:00Z",
                                              utf8::excerpt(*text)));
  }
  REEF_TRY(query.sort, session::sort_from(in.sort()));
  query.ascending = in.ascending();
  query.limit = in.limit();
  query.cursor = in.cursor();
  return query;
}

void fill(protocol::SessionRow& out, const session::Row& row,
          const organise::Definitions& definitions) {
  out.set_id(row.id.text());
  out.set_key(std::string(row.key()));
  out.set_agent(std::string(row.agent()));
  out.set_sender(std::string(row.sender()));
  out.set_title(std::string(row.name()));
  out.set_preview(row.preview);
  out.set_message_count(row.message_count);
  out.set_created_at(format_iso(row.created));
  out.set_updated_at(format_iso(row.updated));
  out.set_bytes(row.bytes);
  // A status that is not defined is kept, and shown as todo.
  const auto shown = definitions.known()->statuses.shown(row.text("sessionStatus"));
  out.set_details(session::details_of(row, shown));
}

Result<session::SessionId> known_session(const session::Sessions& sessions,
                                         const std::string& text) {
  REEF_TRY(auto id, session::SessionId::parse(text));
  if (!sessions.find(id)) return Error(Errc::not_found, "no session '" + id.text() + "'");
  return id;
}

namespace {

protocol::Answer answer_list_sessions(SessionsNeeds needs, const protocol::ListSessions& request) {
  return std::make_unique<RowStream>(needs, request);
}

protocol::Answer answer_read_session(SessionsNeeds needs, const protocol::ReadSession& request) {
  const auto id = known_session(needs.sessions, request.id());
  if (!id) return protocol::answer_with(id.error());
  if (request.limit() > 0) return protocol::answer_with(read_page(needs, *id, request));
  return std::make_unique<TranscriptStream>(needs, *id);
}

protocol::Answer answer_follow_session(SessionsNeeds needs,
                                       const protocol::FollowSession& request) {
  auto id = known_session(needs.sessions, request.id());
  if (!id) return protocol::answer_with(id.error());
  return std::make_unique<FollowStream>(needs, *std::move(id), request.from());
}

protocol::Answer answer_list_trash(SessionsNeeds needs) {
  return protocol::answer_with(list_trash(needs));
}

}  // namespace

Operations sessions_operations() {
  using M = protocol::ClientMessage;
  using protocol::Right;
  static constexpr Operation kRows[] = {
      {M::kListSessions, Right::read, Messages::many, Naming::none,
       answered<&M::list_sessions, answer_list_sessions>},
      {M::kReadSession, Right::read, Messages::many, Naming::none,
       answered<&M::read_session, answer_read_session>},
      {M::kFollowSession, Right::read, Messages::many, Naming::none,
       answered<&M::follow_session, answer_follow_session>},
      {M::kListTrash, Right::read, Messages::one, Naming::none, answered<answer_list_trash>},
  };
  return kRows;
}

}  // namespace reef::server
