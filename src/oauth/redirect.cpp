#include "oauth/redirect.h"

#include <fmt/format.h>

#include "http_server/http_server.h"

namespace reef::oauth {
namespace {

using http_server::Request;
using http_server::Response;

constexpr std::size_t kConnectionsMax = 16;
constexpr std::chrono::milliseconds kPatience{10'000};

Response page(const RedirectListener::Reply& reply) {
  Response out{.status = reply.status};
  out.headers = {
      {"Content-Type", "text/html; charset=utf-8"},
      {"Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'"},
      {"Cache-Control", "no-store"},
      {"Referrer-Policy", "no-referrer"},
  };
  out.body = fmt::format(
      "<!doctype html><meta charset=utf-8><title>Reef</title>"
      "<body style=\"font:16px sans-serif;margin:4em auto;max-width:30em\"><p>{}</p>\n",
      reply.text);
  return out;
}

// A browser asks once; nothing is gained by keeping its connection.
http_server::Limits limits() {
  http_server::Limits out;
  out.connections = kConnectionsMax;
  out.body_bytes = 0;
  out.header = out.idle = out.stall = kPatience;
  return out;
}

Task<Response> serve(std::shared_ptr<const RedirectListener::Ask> ask, Request& request) {
  if (!*ask) co_return Response{.status = 503};
  if (request.method != "GET" || !request.target.starts_with('/'))
    co_return page({405, "Only a browser is expected here."});
  co_return page((*ask)(request.target));
}

class Listener final : public RedirectListener {
 public:
  Listener(std::unique_ptr<http_server::Server> server, std::shared_ptr<Ask> ask)
      : server_(std::move(server)), ask_(std::move(ask)) {}
  ~Listener() override { *ask_ = nullptr; }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  std::uint16_t port() const override { return server_->port(); }

 private:
  std::unique_ptr<http_server::Server> server_;
  std::shared_ptr<Ask> ask_;  // empty when the listener is gone
};

}  // namespace

Result<std::unique_ptr<RedirectListener>> RedirectListener::open(Executor loop, std::uint16_t port,
                                                                 Ask ask) {
  const auto shared = std::make_shared<Ask>(std::move(ask));
  http_server::Handler handler = [shared](Request& request) { return serve(shared, request); };
  REEF_TRY(auto server, http_server::Server::listen_loopback(
                            std::move(loop), port, std::move(handler), {.limits = limits()}));
  return std::unique_ptr<RedirectListener>(std::make_unique<Listener>(std::move(server), shared));
}

}  // namespace reef::oauth
