#include "rpc/message.h"

namespace reef::rpc {
namespace {

constexpr std::size_t kMethodBytesMax = 256;
constexpr std::size_t kIdBytesMax = 1024;

json::object base() {
  return {{"jsonrpc", "2.0"}};
}

Refusal refusal_from(const json::value& value) {
  Refusal out;
  out.code = kInternalError;
  out.message = "the other side refused without saying why";
  const auto* fields = value.if_object();
  if (!fields) return out;
  out.code = json::find_int(*fields, "code").value_or(kInternalError);
  if (const auto message = json::find_string(*fields, "message"); message && !message->empty())
    out.message = *message;
  if (const auto* data = fields->if_contains("data")) out.data = *data;
  return out;
}

}  // namespace

bool is_id(const json::value& id) {
  return id.is_int64() || id.is_uint64() || id.is_double() ||
         (id.is_string() && id.get_string().size() <= kIdBytesMax);
}

Result<Message> message_from(std::string_view text) {
  REEF_TRY(auto value, json::parse_lenient(text));
  return message_from_value(std::move(value));
}

Result<Message> message_from_value(json::value value) {
  if (value.is_array()) return Error(Errc::invalid, "a batch of messages is not understood");
  auto* fields = value.if_object();
  if (!fields) return Error(Errc::invalid, "a message must be an object");
  if (json::find_string(*fields, "jsonrpc") != "2.0")
    return Error(Errc::invalid, "not a message of JSON-RPC 2.0");
  Message out;
  const auto* id = fields->if_contains("id");
  const auto* method = fields->if_contains("method");
  if (method) {
    const auto* name = method->if_string();
    if (!name || name->empty() || name->size() > kMethodBytesMax)
      return Error(Errc::invalid, "a message's method must be a short text");
    out.method = std::string_view(*name);
    if (auto* params = fields->if_contains("params"); params && params->is_object())
      out.params = std::move(params->get_object());
    if (!id) return out;
    if (!is_id(*id)) return Error(Errc::invalid, "a request's id must be a number or a text");
    out.kind = Message::Kind::request;
    out.id = *id;
    return out;
  }
  out.kind = Message::Kind::answer;
  if (id && is_id(*id)) out.id = *id;
  if (const auto* error = fields->if_contains("error"); error && !error->is_null()) {
    out.error = refusal_from(*error);
    return out;
  }
  auto* result = fields->if_contains("result");
  if (!result) return Error(Errc::invalid, "a message without method, result and error");
  if (out.id.is_null()) return Error(Errc::invalid, "a result without the id of its request");
  if (result->is_object()) {
    out.result = std::move(result->get_object());
  } else {
    out.error = Refusal{kInternalError, "the result is not an object"};
  }
  return out;
}

json::object make_request(std::int64_t id, std::string_view method, json::object params) {
  auto out = base();
  out["id"] = id;
  out["method"] = method;
  if (!params.empty()) out["params"] = std::move(params);
  return out;
}

json::object make_notification(std::string_view method, json::object params) {
  auto out = base();
  out["method"] = method;
  if (!params.empty()) out["params"] = std::move(params);
  return out;
}

json::object make_result(const json::value& id, json::object result) {
  auto out = base();
  out["id"] = id;
  out["result"] = std::move(result);
  return out;
}

json::object make_error(const json::value& id, Refusal refusal) {
  json::object error{{"code", refusal.code}, {"message", std::move(refusal.message)}};
  if (!refusal.data.is_null()) error["data"] = std::move(refusal.data);
  auto out = base();
  out["id"] = id;
  out["error"] = std::move(error);
  return out;
}

}  // namespace reef::rpc
