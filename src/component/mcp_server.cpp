#include "component/mcp_server.h"

#include <algorithm>
#include <array>
#include <exception>

#include <fmt/format.h>

#include "base/utf8.h"
#include "rpc/received.h"

namespace reef::component {
namespace {

constexpr std::string_view kModern = "2026-07-28";
constexpr std::array<std::string_view, 4> kLegacy = {"2025-11-25", "2025-06-18", "2025-03-26",
                                                     "2024-11-05"};
// The only revision in which a client may send several messages at once.
constexpr std::string_view kBatches = "2025-03-26";
constexpr std::string_view kMetaVersion = "io.modelcontextprotocol/protocolVersion";
constexpr std::string_view kMetaCapabilities = "io.modelcontextprotocol/clientCapabilities";
constexpr std::string_view kMetaServer = "io.modelcontextprotocol/serverInfo";
// How long a client may keep the list of tools, which changes only when the program restarts.
constexpr std::int64_t kTtlMs = 60'000;

// A message, and the status that goes with it.
struct Reply {
  int status = 200;
  json::object message = {};
};

Reply refuse(const json::value& id, int status, std::int64_t code, std::string message,
             json::value data = nullptr) {
  return {status, rpc::make_error(id, {code, std::move(message), std::move(data)})};
}

Reply result(const json::value& id, json::object body) {
  return {200, rpc::make_result(id, std::move(body))};
}

std::string_view header(const HttpRequest& request, std::string_view name) {
  const auto found = request.headers.find(name);
  return found == request.headers.end() ? std::string_view() : std::string_view(found->second);
}

// A page of another host must not talk to us through the user's browser.
bool is_foreign(std::string_view origin) {
  if (origin.empty()) return false;
  const auto scheme = origin.find("://");
  if (scheme == std::string_view::npos) return true;
  auto host = origin.substr(scheme + 3);
  if (const auto port = host.rfind(':'); port != std::string_view::npos && !host.ends_with(']'))
    host = host.substr(0, port);
  return host != "localhost" && host != "127.0.0.1" && host != "[::1]";
}

json::object server_info(const Service& service) {
  return {{"name", service.name}, {"version", service.version}};
}

json::object capabilities() {
  return {{"tools", json::object{{"listChanged", false}}}};
}

json::object tool_list(const Service& service) {
  json::array tools;
  for (const auto& tool : service.tools)
    tools.push_back(json::object{{"name", tool.name},
                                 {"description", tool.description},
                                 {"inputSchema", tool.input_schema},
                                 {"annotations", json::object{{"readOnlyHint", tool.read_only}}}});
  return {{"tools", std::move(tools)}};
}

Task<ToolAnswer> call_safely(const Tool& tool, json::object arguments) {
  try {
    co_return co_await tool.call(std::move(arguments));
  } catch (const std::exception& error) {
    co_return ToolAnswer{fmt::format("{} failed: {}", tool.name, error.what()), {}, true};
  }
}

Task<Reply> call_tool(const Service& service, const json::value& id, const json::object& params,
                      bool modern) {
  const std::string name(json::find_string(params, "name").value_or(""));
  const auto tool = std::find_if(service.tools.begin(), service.tools.end(),
                                 [&](const Tool& t) { return t.name == name; });
  if (tool == service.tools.end())
    co_return refuse(id, modern ? 400 : 200, rpc::kInvalidParams,
                     fmt::format("there is no tool '{}'", utf8::excerpt(name)));
  json::object arguments;
  if (const auto* given = params.if_contains("arguments")) {
    if (!given->is_object())
      co_return refuse(id, modern ? 400 : 200, rpc::kInvalidParams, "arguments must be an object");
    arguments = given->get_object();
  }
  auto said = co_await call_safely(*tool, std::move(arguments));
  json::object body{
      {"content", json::array{json::object{{"type", "text"}, {"text", utf8::sanitize(said.text)}}}},
      {"isError", said.is_error}};
  if (!said.structured.empty()) body["structuredContent"] = std::move(said.structured);
  if (modern) body["resultType"] = "complete";
  co_return result(id, std::move(body));
}

// Checks what a request of the stateless era must carry; returns the refusal when it does not.
std::optional<Reply> check_modern(const HttpRequest& request, const json::value& id,
                                  std::string_view method, const json::object& params) {
  const auto* meta = json::find_object(params, "_meta");
  const auto version = meta ? json::find_string(*meta, kMetaVersion) : std::nullopt;
  if (!version || !json::find_object(*meta, kMetaCapabilities))
    return refuse(id, 400, rpc::kInvalidParams,
                  fmt::format("params._meta needs {} and {}", kMetaVersion, kMetaCapabilities));
  if (*version != kModern)
    return refuse(id, 400, rpc::kUnsupportedVersion, "this revision is not spoken here",
                  json::object{{"supported", json::array{kModern}}, {"requested", *version}});
  if (header(request, "mcp-protocol-version") != *version)
    return refuse(id, 400, rpc::kHeaderMismatch, "MCP-Protocol-Version differs from the body");
  if (header(request, "mcp-method") != method)
    return refuse(id, 400, rpc::kHeaderMismatch, "Mcp-Method differs from the body");
  if (method == "tools/call" &&
      header(request, "mcp-name") != json::find_string(params, "name").value_or(""))
    return refuse(id, 400, rpc::kHeaderMismatch, "Mcp-Name differs from the body");
  return std::nullopt;
}

Task<Reply> answer_modern(const Service& service, const HttpRequest& request, const json::value& id,
                          std::string_view method, const json::object& params) {
  if (auto wrong = check_modern(request, id, method, params)) co_return *std::move(wrong);
  if (method == "server/discover")
    co_return result(id, {{"resultType", "complete"},
                          {"supportedVersions", json::array{kModern}},
                          {"capabilities", capabilities()},
                          {"instructions", service.instructions},
                          {"ttlMs", kTtlMs},
                          {"cacheScope", "public"},
                          {"_meta", json::object{{kMetaServer, server_info(service)}}}});
  if (method == "tools/list") {
    auto body = tool_list(service);
    body["resultType"] = "complete";
    body["ttlMs"] = kTtlMs;
    body["cacheScope"] = "public";
    co_return result(id, std::move(body));
  }
  if (method == "tools/call") co_return co_await call_tool(service, id, params, true);
  co_return refuse(id, 404, rpc::kMethodNotFound,
                   fmt::format("no method '{}'", utf8::excerpt(method)));
}

Task<Reply> answer_legacy(const Service& service, const json::value& id, std::string_view method,
                          const json::object& params) {
  if (method == "initialize") {
    const auto asked = json::find_string(params, "protocolVersion").value_or("");
    const bool known = std::find(kLegacy.begin(), kLegacy.end(), asked) != kLegacy.end();
    co_return result(id, {{"protocolVersion", known ? asked : kLegacy.front()},
                          {"capabilities", capabilities()},
                          {"serverInfo", server_info(service)},
                          {"instructions", service.instructions}});
  }
  if (method == "ping") co_return result(id, {});
  if (method == "tools/list") co_return result(id, tool_list(service));
  if (method == "tools/call") co_return co_await call_tool(service, id, params, false);
  co_return refuse(id, 200, rpc::kMethodNotFound,
                   fmt::format("no method '{}'", utf8::excerpt(method)));
}

// Takes a request; what is none has been sorted out.
Task<Reply> answer_request(const Service& service, const HttpRequest& request,
                           const rpc::Message& message) {
  // A client of the older era may send _meta too, for progress, but names no version in it.
  const auto* meta = json::find_object(message.params, "_meta");
  const bool modern = message.method == "server/discover" ||
                      (meta && meta->contains(kMetaVersion)) ||
                      header(request, "mcp-protocol-version") == kModern;
  if (modern && message.method != "initialize")
    co_return co_await answer_modern(service, request, message.id, message.method, message.params);
  co_return co_await answer_legacy(service, message.id, message.method, message.params);
}

// Answers the messages one after the other.
Task<HttpReply> answer_batch(const Service& service, const std::vector<rpc::Item>& items) {
  json::array answers;
  for (const auto& item : items) {
    const auto& message = item.message;
    if (item.refusal) {
      answers.push_back(rpc::make_error(message.id, *item.refusal));
    } else if (message.kind == rpc::Message::Kind::request && message.method == "initialize") {
      answers.push_back(rpc::make_error(
          message.id, {rpc::kInvalidRequest, "a handshake must not be part of a batch"}));
    } else if (message.kind == rpc::Message::Kind::request) {
      auto answer = co_await answer_legacy(service, message.id, message.method, message.params);
      answers.push_back(std::move(answer.message));
    }
  }
  if (answers.empty()) co_return HttpReply{202};
  co_return HttpReply{200, json::write(json::value(std::move(answers)))};
}

}  // namespace

Task<HttpReply> answer(const Service& service, const HttpRequest& request) {
  if (is_foreign(header(request, "origin"))) co_return HttpReply{403};
  if (request.path != "/mcp") co_return HttpReply{404};
  if (request.method != "POST") co_return HttpReply{405, {}, "POST"};
  if (!header(request, "content-type").starts_with("application/json")) co_return HttpReply{415};

  // The revision that has batches is the last one whose clients do not name it.
  const auto version = header(request, "mcp-protocol-version");
  const bool batches = version.empty() || version == kBatches;
  const auto received = rpc::take_apart(request.body, batches ? rpc::kBatchMax : 0);
  if (received.batch) co_return co_await answer_batch(service, received.items);
  const auto& item = received.items.front();
  if (item.refusal)
    co_return HttpReply{400, json::write(rpc::make_error(item.message.id, *item.refusal))};
  // Notifications get no answer, and neither do answers: we never ask.
  if (item.message.kind != rpc::Message::Kind::request) co_return HttpReply{202};
  auto answer = co_await answer_request(service, request, item.message);
  co_return HttpReply{answer.status, json::write(answer.message)};
}

}  // namespace reef::component
