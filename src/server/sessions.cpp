// Sessions: list, read, follow.

#include <array>

#include <fmt/format.h>

#include "base/utf8.h"
#include "server/operations.h"
#include "server/server.h"
#include "session/pages.h"

namespace reef::server {
namespace {

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
  RowStream(Node& node, protocol::ListSessions request)
      : node_(node), request_(std::move(request)), left_(request_.limit()) {}

  Task<std::optional<protocol::ServerMessage>> next() override {
    if (done_) co_return std::nullopt;
    if (!begun_) {
      begun_ = true;
      auto query = query_from(co_await node_.definitions.look(), request_);
      if (!query) {
        done_ = true;
        co_return protocol::make_error(query.error());
      }
      query_ = *std::move(query);
    }
    const bool limited = query_.limit > 0;
    auto part = query_;
    part.limit = limited ? std::min(left_, kRowsPerMessage) : kRowsPerMessage;
    const auto page = node_.sessions.list(part);
    if (!page) {
      done_ = true;
      co_return protocol::make_error(page.error());
    }
    protocol::ServerMessage message;
    auto& list = *message.mutable_session_list();
    for (const auto* row : page->rows) fill(node_, *list.add_sessions(), *row);
    left_ -= std::min(left_, page->rows.size());
    query_.cursor = page->cursor;
    done_ = page->cursor.empty() || (limited && left_ == 0);
    list.set_last(done_);
    list.set_cursor(page->cursor);
    list.set_total(page->total);
    co_return message;
  }

 private:
  Node& node_;
  protocol::ListSessions request_;
  session::Query query_;
  std::size_t left_;
  bool begun_ = false;
  bool done_ = false;
};

// Sends the transcript to its end, whoever wrote it, in pieces that are read when asked for.
class TranscriptStream final : public protocol::MessageStream {
 public:
  TranscriptStream(Node& node, session::SessionId id) : node_(node), id_(std::move(id)) {}

  Task<std::optional<protocol::ServerMessage>> next() override {
    if (done_) co_return std::nullopt;
    protocol::ServerMessage message;
    auto& data = *message.mutable_session_data();
    if (at_ == 0) {
      static_cast<void>(co_await node_.definitions.look());
      co_await node_.sessions.update(id_);
      if (const auto* row = node_.sessions.find(id_)) {
        fill(node_, *data.mutable_session(), *row);
        if (row->flag("hasUnread")) node_.sessions.note(id_, {{"hasUnread", nullptr}});
      }
    }
    auto piece = co_await node_.store.read(id_, at_, kDataPerMessage);
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
  Node& node_;
  session::SessionId id_;
  std::uint64_t at_ = 0;
  bool done_ = false;
};

// A page of entries, from either end or beside one; nothing else of the transcript is read.
constexpr std::uint32_t kPageMax = 1000;

Task<protocol::ServerMessage> read_page(Node& node, session::SessionId id,
                                        protocol::ReadSession request) {
  const bool before = !request.before().empty();
  const bool after = request.has_after();
  if (before && after)
    co_return protocol::make_error(Error(Errc::invalid, "a page is before an entry or after one"));
  static_cast<void>(co_await node.definitions.look());
  co_await node.sessions.update(id);
  const auto* row = node.sessions.find(id);
  if (!row) co_return protocol::make_error(session::no_session(id));
  const auto size = row->bytes;
  protocol::ServerMessage message;
  auto& data = *message.mutable_session_data();
  fill(node, *data.mutable_session(), *row);
  const auto name = after ? request.after() : request.before();
  std::uint64_t at = after ? 0 : size;
  if (!name.empty()) {
    const auto line = co_await session::find_line(node.store, id, name, size);
    if (!line) co_return protocol::make_error(line.error());
    if (!*line)
      co_return protocol::make_error(
          Error(Errc::not_found,
                fmt::format("no entry '{}' in session {}", utf8::excerpt(name), id.text())));
    at = after ? (*line)->at + (*line)->bytes : (*line)->at;
  } else if (!after && row->flag("hasUnread")) {
    node.sessions.note(id, {{"hasUnread", nullptr}});
  }
  session::PageLimits limits{.lines_max = std::min(request.limit(), kPageMax)};
  const auto page = after ? co_await session::lines_after(node.store, id, at, limits)
                          : co_await session::lines_before(node.store, id, at, limits);
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
  FollowStream(Node& node, session::SessionId id, std::uint64_t from)
      : node_(node), id_(std::move(id)), at_(from) {}

  Task<std::optional<protocol::ServerMessage>> next() override {
    for (;;) {
      if (done_) co_return std::nullopt;
      auto piece = co_await node_.store.read(id_, at_, kDataPerMessage);
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
      co_await node_.sessions.wait_for_append(kFollowStep);
    }
  }

 private:
  Node& node_;
  session::SessionId id_;
  std::uint64_t at_;
  bool done_ = false;
};

Task<protocol::ServerMessage> list_trash(Node& node) {
  const auto trashed = co_await node.store.trashed();
  if (!trashed) co_return protocol::make_error(trashed.error());
  protocol::ServerMessage message;
  message.mutable_trash_list();
  for (const auto& session : *trashed) message.mutable_trash_list()->add_ids(session.id.text());
  co_return message;
}

}  // namespace

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

void fill(const Node& node, protocol::SessionRow& out, const session::Row& row) {
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
  const auto shown = node.definitions.known()->statuses.shown(row.text("sessionStatus"));
  out.set_details(session::details_of(row, shown));
}

Task<protocol::ServerMessage> pong_when_done(Task<Status> work) {
  const auto done = co_await std::move(work);
  if (!done) co_return protocol::make_error(done.error());
  co_return protocol::make_pong();
}

Result<session::SessionId> known_session(const Node& node, const std::string& text) {
  REEF_TRY(auto id, session::SessionId::parse(text));
  if (!node.sessions.find(id)) return Error(Errc::not_found, "no session '" + id.text() + "'");
  return id;
}

namespace {

protocol::Answer answer_list_sessions(Node& node, const protocol::ListSessions& request) {
  return std::make_unique<RowStream>(node, request);
}

protocol::Answer answer_read_session(Node& node, const protocol::ReadSession& request) {
  const auto id = known_session(node, request.id());
  if (!id) return protocol::answer_with(id.error());
  if (request.limit() > 0) return protocol::answer_with(read_page(node, *id, request));
  return std::make_unique<TranscriptStream>(node, *id);
}

protocol::Answer answer_follow_session(Node& node, const protocol::FollowSession& request) {
  auto id = known_session(node, request.id());
  if (!id) return protocol::answer_with(id.error());
  return std::make_unique<FollowStream>(node, *std::move(id), request.from());
}

protocol::Answer answer_list_trash(Node& node) {
  return protocol::answer_with(list_trash(node));
}

}  // namespace

Operations sessions_operations() {
  using M = protocol::ClientMessage;
  using protocol::Right;
  static constexpr Operation kRows[] = {
      {M::kListSessions, Right::read, Answers::several,
       answered<&M::list_sessions, answer_list_sessions>},
      {M::kReadSession, Right::read, Answers::several,
       answered<&M::read_session, answer_read_session>},
      {M::kFollowSession, Right::read, Answers::several,
       answered<&M::follow_session, answer_follow_session>},
      {M::kListTrash, Right::read, Answers::once,
       [](const Asked& asked) { return answer_list_trash(asked.node); }},
  };
  return kRows;
}

}  // namespace reef::server
