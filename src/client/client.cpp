#include "client/client.h"

#include "base/notify.h"
#include "client/connection.h"

namespace reef::client {
namespace {

constexpr std::chrono::milliseconds kFirstPause{50};

// Whether nothing follows this message.
bool is_last(const protocol::ServerMessage& message) {
  using M = protocol::ServerMessage;
  switch (message.msg_case()) {
    case M::kStream:
      return message.stream().has_end();
    case M::kSessionList:
      return message.session_list().last();
    case M::kSessionData:
      return message.session_data().last();
    case M::kMcpLogin:
      return message.mcp_login().done();
    case M::kImportEvent:
      return message.import_event().last();
    case M::kCheckReport:
      return message.check_report().last();
    case M::kUpload:
      return false;
    case M::kFileData:
      return message.file_data().last();
    case M::kGarbageReport:
      return message.garbage_report().last();
    case M::kUsageReport:
      return message.usage_report().last();
    case M::kMemoryList:
      return message.memory_list().last();
    case M::kMemoryData:
      return message.memory_data().last();
    case M::kFilePiece:
      return message.file_piece().last();
    case M::kBulkReport:
      return message.bulk_report().last();
    case M::kAgentEvent:
    case M::kMcpEvent:
    case M::kTaskEvent:
    case M::kSessionsNews:
    case M::kTasksNews:
    case M::kDecisionsNews:
      return false;
    case M::kEntriesNews:
      return !message.entries_news().gone().empty();
    case M::kPluginEvent:
      return message.plugin_event().has_done();
    default:
      return true;
  }
}

template <class Request>
void fill(Request& out, const TurnRequest& turn) {
  out.set_agent(turn.agent);
  out.set_content(turn.content);
  if (!turn.sender.empty()) out.set_sender(turn.sender);
  if (!turn.cwd.empty()) out.set_cwd(turn.cwd);
  if (turn.key) out.set_key(*turn.key);
  if (!turn.queue.empty()) out.set_queue(turn.queue);
  if (!turn.guest.empty()) out.set_guest(turn.guest);
  if (!turn.context.empty()) out.set_context(turn.context);
}

Error unexpected(const protocol::ServerMessage&) {
  return Error(Errc::unavailable,
               "the daemon answered with another kind of message than asked for");
}

}  // namespace

Stream::Stream(std::shared_ptr<Connection> connection, std::uint64_t id,
               std::shared_ptr<Inbox> inbox)
    : connection_(std::move(connection)), id_(id), inbox_(std::move(inbox)) {}

Stream::~Stream() {
  if (connection_) connection_->forget(id_);
}

Task<Result<std::optional<protocol::ServerMessage>>> Stream::next(
    std::chrono::milliseconds timeout) {
  if (ended_) co_return std::optional<protocol::ServerMessage>();
  auto message = co_await connection_->next(inbox_, timeout);
  if (!message) co_return std::move(message).error();
  ended_ = is_last(*message);
  if (message->has_error()) co_return protocol::error_from(message->error());
  co_return std::optional<protocol::ServerMessage>(*std::move(message));
}

Client::Client(Executor loop, Endpoint endpoint, Options options)
    : loop_(std::move(loop)), endpoint_(std::move(endpoint)), options_(std::move(options)) {}

Client::~Client() {
  close();
}

void Client::close() {
  if (connection_) connection_->close();
  connection_.reset();
}

Task<Status> Client::connect() {
  if (connection_ && !connection_->broken()) co_return Ok{};
  // The first connection fails at once; when one was lost, the daemon may be restarting.
  const int tries = connection_ ? options_.reconnects_max : 0;
  auto pause = kFirstPause;
  for (int attempt = 0;; ++attempt) {
    auto connection = co_await Connection::connect(loop_, endpoint_, options_.connect_timeout);
    if (connection) {
      connection_ = *std::move(connection);
      break;
    }
    if (attempt >= tries) co_return std::move(connection).error();
    co_await sleep_for(pause);
    pause *= 2;
  }
  protocol::ClientMessage message;
  auto& hello = *message.mutable_hello();
  hello.set_client(options_.name);
  hello.set_protocol_version(protocol::kVersion);
  hello.set_token(endpoint_.token);
  const auto id = connection_->fresh_id();
  message.set_request_id(id);
  Stream stream(connection_, id, connection_->expect(id));
  REEF_CO_CHECK(co_await connection_->write(message));
  REEF_CO_TRY(auto answer, co_await stream.next(options_.connect_timeout));
  if (!answer || !answer->has_hello())
    co_return Error(Errc::unavailable, "the daemon did not answer Hello");
  server_ = answer->hello();
  co_return Ok{};
}

Task<Result<Stream>> Client::open(protocol::ClientMessage message) {
  REEF_CO_CHECK(co_await connect());
  const auto id = connection_->fresh_id();
  message.set_request_id(id);
  Stream stream(connection_, id, connection_->expect(id));
  REEF_CO_CHECK(co_await connection_->write(message));
  co_return stream;
}

Task<Result<protocol::ServerMessage>> Client::request(protocol::ClientMessage message,
                                                      Repeat repeat,
                                                      std::chrono::milliseconds timeout) {
  for (int attempt = 0;; ++attempt) {
    auto stream = co_await open(message);
    Result<std::optional<protocol::ServerMessage>> answer =
        std::optional<protocol::ServerMessage>();
    if (stream) {
      answer = co_await stream->next(timeout);
      if (answer && *answer) co_return std::move(**answer);
    } else {
      answer = std::move(stream).error();
    }
    const bool lost = connection_ && connection_->broken();
    if (repeat == Repeat::safe && lost && attempt == 0) continue;
    if (!answer) co_return std::move(answer).error();
    co_return Error(Errc::unavailable, "the daemon sent no answer");
  }
}

Task<Status> Client::ping() {
  protocol::ClientMessage message;
  message.mutable_ping();
  REEF_CO_TRY(const auto answer, co_await request(message, Repeat::safe, options_.answer_timeout));
  if (!answer.has_pong()) co_return unexpected(answer);
  co_return Ok{};
}

Task<Result<protocol::Stats>> Client::stats() {
  protocol::ClientMessage message;
  message.mutable_get_stats();
  REEF_CO_TRY(const auto answer, co_await request(message, Repeat::safe, options_.answer_timeout));
  if (!answer.has_stats()) co_return unexpected(answer);
  co_return answer.stats();
}

Task<Status> Client::reload() {
  protocol::ClientMessage message;
  message.mutable_reload();
  REEF_CO_TRY(const auto answer, co_await request(message, Repeat::safe, options_.answer_timeout));
  if (!answer.has_pong()) co_return unexpected(answer);
  co_return Ok{};
}

Task<Status> Client::shutdown() {
  protocol::ClientMessage message;
  message.mutable_shutdown();
  REEF_CO_TRY(const auto answer, co_await request(message, Repeat::never, options_.answer_timeout));
  if (!answer.has_pong()) co_return unexpected(answer);
  co_return Ok{};
}

Task<Status> Client::kill(std::string agent, std::string sender) {
  protocol::ClientMessage message;
  message.mutable_kill()->set_agent(std::move(agent));
  message.mutable_kill()->set_sender(std::move(sender));
  REEF_CO_TRY(const auto answer, co_await request(message, Repeat::safe, options_.answer_timeout));
  if (!answer.has_pong()) co_return unexpected(answer);
  co_return Ok{};
}

Task<Result<protocol::SendResponse>> Client::send(TurnRequest turn) {
  protocol::ClientMessage message;
  fill(*message.mutable_send(), turn);
  // A turn takes as long as its model does.
  REEF_CO_TRY(const auto answer,
              co_await request(message, Repeat::never, std::chrono::milliseconds(0)));
  if (!answer.has_response()) co_return unexpected(answer);
  co_return answer.response();
}

Task<Result<Stream>> Client::stream(TurnRequest turn) {
  protocol::ClientMessage message;
  fill(*message.mutable_stream(), turn);
  co_return co_await open(std::move(message));
}

Task<Result<protocol::SessionList>> Client::sessions(protocol::ListSessions query) {
  protocol::ClientMessage message;
  *message.mutable_list_sessions() = std::move(query);
  REEF_CO_TRY(auto stream, co_await open(std::move(message)));
  protocol::SessionList list;
  for (;;) {
    REEF_CO_TRY(auto answer, co_await stream.next(options_.answer_timeout));
    if (!answer) co_return list;
    if (!answer->has_session_list()) co_return unexpected(*answer);
    list.MergeFrom(answer->session_list());
  }
}

Task<Result<protocol::SessionRow>> Client::change_session(
    protocol::ClientMessage message, std::optional<std::chrono::milliseconds> patience) {
  REEF_CO_TRY(auto answer, co_await request(std::move(message), Repeat::never,
                                            patience.value_or(options_.answer_timeout)));
  if (!answer.has_session_info()) co_return unexpected(answer);
  co_return answer.session_info().session();
}

Task<Result<Client::Transcript>> Client::read_session(std::string id) {
  protocol::ClientMessage message;
  message.mutable_read_session()->set_id(std::move(id));
  REEF_CO_TRY(auto stream, co_await open(std::move(message)));
  Transcript transcript;
  for (;;) {
    REEF_CO_TRY(auto answer, co_await stream.next(options_.answer_timeout));
    if (!answer) co_return transcript;
    if (!answer->has_session_data()) co_return unexpected(*answer);
    const auto& data = answer->session_data();
    if (data.has_session()) transcript.row = data.session();
    transcript.bytes += data.data();
  }
}

Task<Result<protocol::MemoryList>> Client::memories(protocol::ClientMessage message) {
  REEF_CO_TRY(auto stream, co_await open(std::move(message)));
  protocol::MemoryList list;
  for (;;) {
    REEF_CO_TRY(auto answer, co_await stream.next(options_.answer_timeout));
    if (!answer) co_return list;
    if (!answer->has_memory_list()) co_return unexpected(*answer);
    list.MergeFrom(answer->memory_list());
  }
}

Task<Result<protocol::MemoryEntry>> Client::memory_entry(protocol::ClientMessage message) {
  REEF_CO_TRY(auto answer,
              co_await request(std::move(message), Repeat::never, options_.answer_timeout));
  if (!answer.has_memory_info()) co_return unexpected(answer);
  co_return answer.memory_info().entry();
}

Task<Result<std::string>> Client::read_memory(std::string agent) {
  protocol::ClientMessage message;
  message.mutable_read_memory()->set_agent(std::move(agent));
  REEF_CO_TRY(auto stream, co_await open(std::move(message)));
  std::string bytes;
  for (;;) {
    REEF_CO_TRY(auto answer, co_await stream.next(options_.answer_timeout));
    if (!answer) co_return bytes;
    if (!answer->has_memory_data()) co_return unexpected(*answer);
    bytes += answer->memory_data().data();
  }
}

Task<Result<std::uint64_t>> Client::load_memory(std::string agent, std::string load,
                                                std::string bytes) {
  constexpr std::size_t kPartBytes = 4U << 20;
  for (std::size_t at = 0;; at += kPartBytes) {
    protocol::ClientMessage message;
    auto& part = *message.mutable_load_memory();
    part.set_agent(agent);
    part.set_load(load);
    part.set_offset(at);
    part.set_data(bytes.substr(at, kPartBytes));
    part.set_last(at + kPartBytes >= bytes.size());
    const bool last = part.last();
    REEF_CO_TRY(const auto answer,
                co_await request(std::move(message), Repeat::never, options_.answer_timeout));
    if (last && answer.has_memory_loaded()) co_return answer.memory_loaded().entries();
    if (last || !answer.has_pong()) co_return unexpected(answer);
  }
}

}  // namespace reef::client
