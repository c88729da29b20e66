#include "mcp/json_rpc.h"

#include <fmt/format.h>

#include "base/utf8.h"

namespace reef::mcp {
namespace {

constexpr std::size_t kMethodBytesMax = 256;
constexpr std::size_t kIdBytesMax = 1024;
// Consumed bytes are removed once there are enough to be worth moving the rest.
constexpr std::size_t kShrinkBytes = 64U << 10;

bool is_id(const json::value& id) {
  return id.is_int64() || id.is_uint64() || id.is_double() ||
         (id.is_string() && id.get_string().size() <= kIdBytesMax);
}

json::object base() {
  return {{"jsonrpc", "2.0"}};
}

RpcError error_from(const json::value& value) {
  RpcError out;
  out.code = kInternalError;
  out.message = "the server refused without saying why";
  const auto* fields = value.if_object();
  if (!fields) return out;
  out.code = json::find_int(*fields, "code").value_or(kInternalError);
  if (const auto message = json::find_string(*fields, "message"); message && !message->empty())
    out.message = *message;
  if (const auto* data = fields->if_contains("data")) out.data = *data;
  return out;
}

}  // namespace

Result<Message> message_from(std::string_view text) {
  REEF_TRY(auto value, json::parse_lenient(text));
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
    out.error = error_from(*error);
    return out;
  }
  auto* result = fields->if_contains("result");
  if (!result) return Error(Errc::invalid, "a message without method, result and error");
  if (out.id.is_null()) return Error(Errc::invalid, "a result without the id of its request");
  if (result->is_object()) {
    out.result = std::move(result->get_object());
  } else {
    out.error = RpcError{kInternalError, "the server's result is not an object"};
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

json::object make_error(const json::value& id, std::int64_t code, std::string_view message) {
  auto out = base();
  out["id"] = id;
  out["error"] = json::object{{"code", code}, {"message", message}};
  return out;
}

std::optional<std::string> Lines::next() {
  for (;;) {
    const auto end = buffer_.find('\n', seen_);
    if (end == std::string::npos) {
      seen_ = buffer_.size();
      if (dropping_) start_ = seen_;
      if (seen_ - start_ > bytes_max_) {
        dropping_ = true;
        ++dropped_;
        start_ = seen_;
      }
      if (start_ >= kShrinkBytes || start_ == buffer_.size()) {
        buffer_.erase(0, start_);
        seen_ -= std::exchange(start_, 0);
      }
      return std::nullopt;
    }
    auto line = std::string_view(buffer_).substr(start_, end - start_);
    start_ = seen_ = end + 1;
    if (std::exchange(dropping_, false)) continue;
    if (line.size() > bytes_max_) {
      ++dropped_;
      continue;
    }
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.find_first_not_of(" \t") == std::string_view::npos) continue;
    return std::string(line);
  }
}

}  // namespace reef::mcp
