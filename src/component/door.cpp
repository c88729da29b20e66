#include "component/door.h"

#include "component/mcp_server.h"

namespace reef::component {
namespace {

// Takes as long for a wrong token as for the right one.
bool is_same(std::string_view a, std::string_view b) {
  unsigned differ = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < b.size(); ++i)
    differ |=
        static_cast<unsigned char>(b[i]) ^ static_cast<unsigned char>(i < a.size() ? a[i] : 0);
  return differ == 0;
}

Task<http_server::Response> take(const Service& service, const std::string& wanted,
                                 http_server::Request& from) {
  HttpReply reply;
  const auto* shown = from.find("authorization");
  if (!shown || !is_same(*shown, wanted)) {
    reply = {401, R"({"error":"the token of run/NAME.port is wanted, as Authorization: Bearer"})"};
  } else {
    auto body = co_await from.whole_body();
    if (!body) co_return http_server::Response{.status = 400};
    HttpRequest request{from.method, std::string(from.path()), {}, *std::move(body)};
    for (auto& [name, value] : from.headers) request.headers.insert_or_assign(name, value);
    reply = co_await answer(service, request);
  }
  http_server::Response out{.status = reply.status};
  if (!reply.body.empty()) out.headers.emplace_back("Content-Type", "application/json");
  if (!reply.allow.empty()) out.headers.emplace_back("Allow", reply.allow);
  out.body = std::move(reply.body);
  co_return out;
}

}  // namespace

Result<std::unique_ptr<http_server::Server>> open_door(Executor loop, const Service& service,
                                                       std::string token) {
  // The server keeps the handler as long as a request may use it.
  http_server::Handler handler =
      [&service, wanted = "Bearer " + std::move(token)](http_server::Request& request) {
        return take(service, wanted, request);
      };
  return http_server::Server::listen_loopback(std::move(loop), 0, std::move(handler), {});
}

}  // namespace reef::component
