// Streamable HTTP: every message is a POST, answered by one message or by a stream of them.
//
// A stream that ends before its answer came is resumed with Last-Event-ID, if its events had ids.
// Servers with a handshake may also have a session and a stream of their own.

#include <fmt/format.h>

#include "base/log.h"
#include "base/notify.h"
#include "base/task_group.h"
#include "base/utf8.h"
#include "mcp/http_common.h"

namespace reef::mcp {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kRetryDefault{1'000}, kRetryMax{60'000};
// After this many streams in a row without anything new we give up.
constexpr int kResumptionsMax = 5;
constexpr milliseconds kGoodbyePatience{2'000};
constexpr std::size_t kErrorBytesMax = 64U << 10;

// The specification demands 404. Servers that follow a widespread example say 400 instead; they
// would stay unusable after a restart if we did not accept that.
bool tells_of_a_lost_session(int status, const std::string& body) {
  return status == 404 ||
         (status == 400 && utf8::lower_ascii(body).find("session") != std::string::npos);
}

class Http final : public Transport {
 public:
  Http(Executor loop, http::Client& client, Resolved server, Receiver receiver)
      : client_(client),
        server_(std::move(server)),
        receiver_(std::move(receiver)),
        tasks_(std::move(loop), "mcp http") {}

  std::string_view kind() const override { return "http"; }
  void use_version(std::string version) override { version_ = std::move(version); }
  void listen() override { tasks_.spawn(listen_on()); }
  Task<Status> send(Outgoing out) override;
  Task<void> close() override;

 private:
  // The state that a stream leaves for the one that resumes it.
  struct Place {
    std::string last_id = {};
    milliseconds retry = kRetryDefault;
    bool brought_something = false;
  };

  http::Headers headers(const http::Headers& more) const;
  void hear(rpc::Message message, std::optional<std::int64_t> during);
  // Reads a stream to its end or to the answer of `id`; returns true when the answer came.
  Task<Result<bool>> read_stream(http::Response answer, std::optional<std::int64_t> id,
                                 Place& place);
  Task<Status> take_up(std::int64_t id, Place place);
  Task<Result<http::Response>> get(const std::string& last_id);
  Task<void> listen_on();

  http::Client& client_;
  Resolved server_;
  Receiver receiver_;
  std::string version_;
  std::string session_;
  bool closing_ = false;
  TaskGroup tasks_;
};

http::Headers Http::headers(const http::Headers& more) const {
  http::Headers out;
  if (!session_.empty()) out.emplace_back("Mcp-Session-Id", session_);
  for (const auto& header : more) out.push_back(header);
  // A request may name its own version, to ask for another one.
  if (!version_.empty() && std::none_of(more.begin(), more.end(), [](const auto& header) {
        return header.first == "MCP-Protocol-Version";
      }))
    out.emplace_back("MCP-Protocol-Version", version_);
  return out;
}

void Http::hear(rpc::Message message, std::optional<std::int64_t> during) {
  if (!closing_) receiver_.on_message({std::move(message), during});
}

Task<Status> Http::send(Outgoing out) {
  if (closing_) co_return Error(Errc::unavailable, "the connection is closed");
  // Only the handshake begins a session.
  const bool handshake = json::find_string(out.message, "method") == "initialize";
  if (handshake) session_.clear();
  http::Request request;
  request.url = server_.spec.url;
  request.headers = headers(out.headers);
  request.headers.emplace_back("Content-Type", "application/json");
  request.headers.emplace_back("Accept", "application/json, text/event-stream");
  request.body = json::write(out.message);
  const bool had_session = !session_.empty();
  auto sent = co_await send_to(client_, server_, std::move(request), kHttpTimeouts);
  if (!sent) co_return std::move(sent).error();
  auto answer = *std::move(sent);
  if (const auto* session = http::find_header(answer.headers(), "mcp-session-id");
      session && handshake)
    session_ = *session;
  const int status = answer.status();
  const bool good = status >= 200 && status < 300;
  if (!out.id) {
    // The body of an answer to a notification means nothing.
    Status done = Ok{};
    if (!good) done = status_error(status, had_session, server_, {});
    client_.drain(std::move(answer));
    co_return done;
  }
  if (good && is_event_stream(answer)) {
    Place place;
    REEF_CO_TRY(const bool answered, co_await read_stream(std::move(answer), out.id, place));
    if (answered) co_return Ok{};
    if (place.last_id.empty())
      co_return Error(Errc::unavailable, "the server ended its answer before its result came");
    co_return co_await take_up(*out.id, std::move(place));
  }
  REEF_CO_TRY(const auto body,
              co_await http::read_body(answer, good ? rpc::kMessageBytesMax + 1 : kErrorBytesMax));
  if (body.size() > rpc::kMessageBytesMax)
    co_return Error(Errc::too_large, fmt::format("the server's answer has more than {} bytes",
                                                 rpc::kMessageBytesMax));
  if (had_session && tells_of_a_lost_session(status, body))
    co_return Error(Errc::gone, status_error(status, true, server_, body).what);
  auto message = rpc::message_from(body);
  const bool is_answer = message && message->kind == rpc::Message::Kind::answer;
  if (!is_answer && !good) co_return status_error(status, had_session, server_, body);
  if (!is_answer)
    co_return Error(Errc::invalid, message ? "the server answered with something else than a result"
                                           : message.error().what);
  if (status == 401 || status == 403 || status >= 500)
    co_return status_error(status, had_session, server_, body);
  // An error about an unreadable request carries no id.
  if (message->id.is_null() || !good) message->id = *out.id;
  if (message->id != json::value(*out.id))
    co_return Error(Errc::invalid, "the server answered another request");
  hear(*std::move(message), out.id);
  co_return Ok{};
}

Task<Result<bool>> Http::read_stream(http::Response answer, std::optional<std::int64_t> id,
                                     Place& place) {
  http::sse::Parser parser(rpc::kMessageBytesMax);
  const auto note = [&] {
    if (!parser.last_id().empty() && parser.last_id() != place.last_id) {
      place.last_id = parser.last_id();
      place.brought_something = true;
    }
    if (const auto retry = parser.retry()) place.retry = std::min(*retry, kRetryMax);
  };
  for (;;) {
    const auto bytes = co_await answer.read();
    // A broken stream counts as one that ended; only the answer matters.
    if (!bytes || bytes->empty()) break;
    parser.feed(*bytes);
    for (;;) {
      REEF_CO_TRY(const auto event, parser.next());
      note();
      if (!event) break;
      if (event->data.empty() || (!event->type.empty() && event->type != "message")) continue;
      auto message = rpc::message_from(event->data);
      if (!message) {
        log::debug("mcp {}: an event that is no message: {}", server_.spec.name,
                   message.error().what);
        continue;
      }
      const bool is_answer =
          id && message->kind == rpc::Message::Kind::answer && message->id == json::value(*id);
      hear(*std::move(message), id);
      if (!is_answer) continue;
      client_.drain(std::move(answer));
      co_return true;
    }
  }
  if (id)
    if (const auto event = parser.rest(); event && !event->data.empty()) {
      auto message = rpc::message_from(event->data);
      if (message && message->kind == rpc::Message::Kind::answer &&
          message->id == json::value(*id)) {
        hear(*std::move(message), id);
        co_return true;
      }
    }
  note();
  co_return false;
}

Task<Result<http::Response>> Http::get(const std::string& last_id) {
  http::Request request;
  request.method = "GET";
  request.url = server_.spec.url;
  request.headers = headers({});
  request.headers.emplace_back("Accept", "text/event-stream");
  if (!last_id.empty()) request.headers.emplace_back("Last-Event-ID", last_id);
  const bool had_session = !session_.empty();
  REEF_CO_TRY(auto answer,
              co_await send_to(client_, server_, std::move(request), kHttpTimeouts, Weight::aside));
  if (answer.status() == 200 && is_event_stream(answer)) co_return std::move(answer);
  auto error = status_error(answer.status(), had_session, server_, {});
  client_.drain(std::move(answer));
  co_return error;
}

Task<Status> Http::take_up(std::int64_t id, Place place) {
  for (int idle = 0; idle < kResumptionsMax; ++idle) {
    co_await sleep_for(place.retry);
    auto answer = co_await get(place.last_id);
    if (!answer) {
      if (answer.error().code == Errc::unsupported || answer.error().code == Errc::gone)
        co_return std::move(answer).error();
      continue;
    }
    place.brought_something = false;
    REEF_CO_TRY(const bool answered, co_await read_stream(*std::move(answer), id, place));
    if (answered) co_return Ok{};
    if (place.brought_something) idle = -1;
  }
  co_return Error(Errc::unavailable, "the server ended its answer before its result came");
}

// Reads the stream on which the server sends messages of its own.
Task<void> Http::listen_on() {
  co_await yield_to_loop();
  Place place;
  for (int idle = 0; idle < kResumptionsMax && !closing_; ++idle) {
    auto answer = co_await get(place.last_id);
    if (!answer) {
      // Most servers have no such stream.
      if (answer.error().code == Errc::unsupported) co_return;
      if (answer.error().code == Errc::gone) break;
    } else {
      place.brought_something = false;
      const auto read = co_await read_stream(*std::move(answer), std::nullopt, place);
      if (!read) log::debug("mcp {}: {}", server_.spec.name, read.error().what);
      if (place.brought_something) idle = -1;
    }
    co_await sleep_for(place.retry);
  }
}

Task<void> Http::close() {
  closing_ = true;
  tasks_.cancel();
  co_await tasks_.join();
  if (session_.empty()) co_return;
  http::Request request;
  request.method = "DELETE";
  request.url = server_.spec.url;
  request.headers = headers({});
  auto timeouts = kHttpTimeouts;
  timeouts.connect = timeouts.first_byte = timeouts.idle = kGoodbyePatience;
  // The session ends for us whatever the server answers.
  if (auto answer = co_await send_to(client_, server_, std::move(request), timeouts, Weight::aside))
    client_.drain(*std::move(answer));
}

}  // namespace

std::unique_ptr<Transport> make_http(Executor loop, http::Client& client, Resolved server,
                                     Receiver receiver) {
  return std::make_unique<Http>(std::move(loop), client, std::move(server), std::move(receiver));
}

}  // namespace reef::mcp
