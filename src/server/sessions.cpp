#include "base/utf8.h"
#include "server/server.h"

namespace reef::server {
namespace {

constexpr std::size_t kRowsPerMessage = 500;
constexpr std::size_t kDataPerMessage = 256U << 10;

void fill(protocol::SessionRow& out, const session::Row& row) {
  out.set_id(row.id.text());
  out.set_key(row.key);
  out.set_agent(row.agent);
  out.set_sender(row.sender);
  out.set_title(row.title);
  out.set_preview(row.preview);
  out.set_message_count(row.message_count);
  out.set_created_at(format_iso(row.created));
  out.set_updated_at(format_iso(row.updated));
  out.set_bytes(row.bytes);
}

class RowStream final : public protocol::MessageStream {
 public:
  explicit RowStream(std::vector<session::Row> rows) : rows_(std::move(rows)) {}

  Task<std::optional<protocol::ServerMessage>> next() override {
    if (done_) co_return std::nullopt;
    protocol::ServerMessage message;
    auto& list = *message.mutable_session_list();
    const auto end = std::min(rows_.size(), at_ + kRowsPerMessage);
    for (; at_ < end; ++at_) fill(*list.add_sessions(), rows_[at_]);
    done_ = at_ == rows_.size();
    list.set_last(done_);
    co_return message;
  }

 private:
  std::vector<session::Row> rows_;
  std::size_t at_ = 0;
  bool done_ = false;
};

class TranscriptStream final : public protocol::MessageStream {
 public:
  TranscriptStream(session::Store& store, session::Row row) : store_(store), row_(std::move(row)) {}

  Task<std::optional<protocol::ServerMessage>> next() override {
    if (done_) co_return std::nullopt;
    protocol::ServerMessage message;
    auto& data = *message.mutable_session_data();
    if (!bytes_) {
      auto read = co_await store_.read(row_.id);
      if (!read) {
        done_ = true;
        co_return protocol::make_error(read.error());
      }
      bytes_ = *std::move(read);
      fill(*data.mutable_session(), row_);
    }
    const auto piece = std::string_view(*bytes_).substr(at_, kDataPerMessage);
    at_ += piece.size();
    data.set_data(std::string(piece));
    done_ = at_ == bytes_->size();
    data.set_last(done_);
    co_return message;
  }

 private:
  session::Store& store_;
  session::Row row_;
  std::optional<std::string> bytes_;
  std::size_t at_ = 0;
  bool done_ = false;
};

}  // namespace

protocol::Answer answer_list_sessions(Node& node) {
  return std::make_unique<RowStream>(node.sessions.list());
}

protocol::Answer answer_read_session(Node& node, const protocol::ReadSession& request) {
  const auto id = session::SessionId::parse(request.id());
  if (!id) return protocol::answer_with(id.error());
  auto row = node.sessions.find(*id);
  if (!row) return protocol::answer_with(Error(Errc::not_found, "no session '" + id->text() + "'"));
  return std::make_unique<TranscriptStream>(node.store, *std::move(row));
}

}  // namespace reef::server
