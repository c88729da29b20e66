// HTTP+SSE of 2024-11-05: one stream brings all messages; ours are posted to the address that the
// stream names first.

#include <fmt/format.h>

#include "base/log.h"
#include "base/notify.h"
#include "base/task_group.h"
#include "mcp/http_common.h"

namespace reef::mcp {
namespace {

constexpr std::chrono::milliseconds kEndpointPatience{10'000};

class Sse final : public Transport {
 public:
  Sse(Executor loop, http::Client& client, Resolved server, Receiver receiver)
      : client_(client),
        server_(std::move(server)),
        receiver_(std::move(receiver)),
        changed_(loop),
        tasks_(loop, "mcp sse") {}

  std::string_view kind() const override { return "sse"; }

  Task<Status> open() {
    http::Request request;
    request.method = "GET";
    request.url = server_.spec.url;
    request.headers.emplace_back("Accept", "text/event-stream");
    auto timeouts = kHttpTimeouts;
    timeouts.first_byte = kEndpointPatience;
    REEF_CO_TRY(auto answer, co_await send_to(client_, server_, std::move(request), timeouts));
    if (answer.status() != 200 || !is_event_stream(answer)) {
      auto error = status_error(answer.status(), false, server_, {});
      client_.drain(std::move(answer));
      co_return error;
    }
    tasks_.spawn(read(std::move(answer)));
    const auto settled = [this] { return !endpoint_.empty() || failed_; };
    static_cast<void>(co_await changed_.wait_for(kEndpointPatience, settled));
    if (failed_) co_return *failed_;
    if (endpoint_.empty())
      co_return Error(Errc::unsupported, "the stream does not say where messages go");
    opened_ = true;
    co_return Ok{};
  }

  Task<Status> send(Outgoing out) override {
    if (closing_ || failed_) co_return Error(Errc::unavailable, "the connection is closed");
    http::Request request;
    request.url = endpoint_;
    request.headers.emplace_back("Content-Type", "application/json");
    request.body = json::write(out.message);
    REEF_CO_TRY(auto answer, co_await send_to(client_, server_, std::move(request), kHttpTimeouts));
    const int status = answer.status();
    Status done = Ok{};
    if (status < 200 || status >= 300) done = status_error(status, true, server_, {});
    client_.drain(std::move(answer));
    co_return done;
  }

  Task<void> close() override {
    closing_ = true;
    tasks_.cancel();
    co_await tasks_.join();
  }

 private:
  Task<void> read(http::Response answer) {
    co_await yield_to_loop();
    http::sse::Parser parser(rpc::kMessageBytesMax);
    for (;;) {
      const auto bytes = co_await answer.read();
      if (!bytes || bytes->empty()) break;
      parser.feed(*bytes);
      for (;;) {
        const auto event = parser.next();
        if (!event) co_return fail(event.error());
        if (!*event) break;
        take(**event);
        if (failed_) co_return;
      }
    }
    fail(Error(Errc::unavailable, "the server ended its stream"));
  }

  void take(const http::sse::Event& event) {
    if (event.type == "endpoint") {
      if (!endpoint_.empty()) return;
      auto address = resolve_address(server_.spec.url, event.data);
      if (!address) return fail(address.error());
      endpoint_ = *std::move(address);
      changed_.notify_all();
      return;
    }
    if (event.data.empty() || (!event.type.empty() && event.type != "message")) return;
    auto message = rpc::message_from(event.data);
    if (message && !closing_) receiver_.on_message({*std::move(message)});
  }

  void fail(Error why) {
    if (failed_) return;
    failed_ = why;
    changed_.notify_all();
    if (opened_ && !closing_) receiver_.on_closed(std::move(why));
  }

  http::Client& client_;
  Resolved server_;
  Receiver receiver_;
  std::string endpoint_;
  std::optional<Error> failed_;
  bool opened_ = false;
  bool closing_ = false;
  Notify changed_;
  TaskGroup tasks_;
};

}  // namespace

Task<Result<std::unique_ptr<Transport>>> open_sse(Executor loop, http::Client& client,
                                                  Resolved server, Receiver receiver) {
  auto sse = std::make_unique<Sse>(std::move(loop), client, std::move(server), std::move(receiver));
  auto opened = co_await sse->open();
  if (!opened) {
    co_await sse->close();
    co_return std::move(opened).error();
  }
  std::unique_ptr<Transport> out = std::move(sse);
  co_return out;
}

}  // namespace reef::mcp
