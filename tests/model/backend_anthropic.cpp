// Anthropic's Messages API as its server speaks it.
#include <fmt/format.h>

#include "base/overload.h"
#include "model/anthropic/anthropic.h"
#include "model/backends.h"
#include "model/validators.h"

namespace reef::model::test {
namespace {

using reef::test::SeenRequest;

std::string event(std::string_view name, json::object data) {
  data["type"] = name;
  return fmt::format("event: {}\ndata: {}\n\n", name, json::write(data));
}

std::string start(const Script& script) {
  return event(
      "message_start",
      {{"message",
        json::object{{"id", "msg_1"},
                     {"type", "message"},
                     {"role", "assistant"},
                     {"model", script.model},
                     {"content", json::array()},
                     {"stop_reason", nullptr},
                     {"usage", json::object{{"input_tokens", script.input},
                                            {"cache_creation_input_tokens", script.cache_write},
                                            {"cache_read_input_tokens", script.cache_read},
                                            {"output_tokens", 1}}}}}});
}

std::string block(std::size_t index, const json::object& content,
                  const std::vector<json::object>& deltas) {
  auto out = event("content_block_start", {{"index", index}, {"content_block", content}});
  for (const auto& delta : deltas)
    out += event("content_block_delta", {{"index", index}, {"delta", delta}});
  return out + event("content_block_stop", {{"index", index}});
}

std::string stream(const Script& script) {
  auto out = start(script) + "event: ping\ndata: {\"type\": \"ping\"}\n\n";
  std::size_t index = 0;
  for (const auto& said : script.blocks) {
    std::vector<json::object> deltas;
    std::visit(
        Overload{
            [&](const Script::Text& text) {
              for (const auto& piece : text.pieces)
                deltas.push_back({{"type", "text_delta"}, {"text", piece}});
              out += block(index, {{"type", "text"}, {"text", ""}}, deltas);
            },
            [&](const Script::Thinking& thinking) {
              for (const auto& piece : thinking.pieces)
                deltas.push_back({{"type", "thinking_delta"}, {"thinking", piece}});
              deltas.push_back({{"type", "signature_delta"}, {"signature", thinking.signature}});
              out +=
                  block(index, {{"type", "thinking"}, {"thinking", ""}, {"signature", ""}}, deltas);
            },
            [&](const Script::Call& call) {
              deltas.push_back({{"type", "input_json_delta"}, {"partial_json", ""}});
              for (const auto& piece : call.argument_pieces)
                deltas.push_back({{"type", "input_json_delta"}, {"partial_json", piece}});
              out += block(index,
                           {{"type", "tool_use"},
                            {"id", call.id},
                            {"name", call.name},
                            {"input", json::object()}},
                           deltas);
            },
        },
        said);
    ++index;
  }
  const auto* reason = script.stop == Script::Stop::end      ? "end_turn"
                       : script.stop == Script::Stop::length ? "max_tokens"
                                                             : "tool_use";
  out += event("message_delta",
               {{"delta", json::object{{"stop_reason", reason}, {"stop_sequence", nullptr}}},
                {"usage", json::object{{"output_tokens", script.output},
                                       {"output_tokens_details",
                                        json::object{{"thinking_tokens", script.reasoning}}}}}});
  return out + event("message_stop", {});
}

std::string error(std::string_view type, std::string_view message) {
  return json::write(json::object{{"type", "error"},
                                  {"error", json::object{{"type", type}, {"message", message}}},
                                  {"request_id", "req_1"}});
}

}  // namespace

Backend anthropic_messages() {
  using Kind = Failure::Kind;
  Backend out;
  out.name = "AnthropicMessages";
  out.codec = [](const std::string& base_url, const std::string& key) {
    return std::make_shared<AnthropicCodec>(AnthropicOptions{base_url, key});
  };
  out.stream = stream;
  out.failing =
      start({}) +
      event("content_block_start",
            {{"index", 0}, {"content_block", json::object{{"type", "text"}, {"text", ""}}}}) +
      event("content_block_delta",
            {{"index", 0}, {"delta", json::object{{"type", "text_delta"}, {"text", "so far"}}}}) +
      "event: error\ndata: " + error("overloaded_error", "Overloaded") + "\n\n";
  out.errors = {
      {400, error("invalid_request_error", "max_tokens: Field required"), Kind::invalid_request},
      {400, error("invalid_request_error", "prompt is too long: 200251 tokens > 200000 maximum"),
       Kind::context_overflow},
      {400,
       error("invalid_request_error",
             "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000"),
       Kind::context_overflow},
      {401, error("authentication_error", "invalid x-api-key"), Kind::auth},
      {402, error("billing_error", "credit balance is too low"), Kind::rate_limit, true},
      {403, error("permission_error", "not for you"), Kind::auth},
      {404, error("not_found_error", "model: m-1"), Kind::invalid_request},
      {413, error("request_too_large", "Request exceeds the maximum size"), Kind::context_overflow},
      {429, error("rate_limit_error", "slow down"), Kind::rate_limit},
      {429, error("rate_limit_error", "enforced_spend_limit_reached"), Kind::rate_limit, true},
      {500, error("api_error", "Internal server error"), Kind::server},
      {504, error("timeout_error", "Request timed out"), Kind::timeout},
      {529, error("overloaded_error", "Overloaded"), Kind::overloaded},
  };
  out.models = {"claude-sonnet-4-5", "claude-sonnet-4-5-20250929", "claude-opus-4-6"};
  out.validate = reef::test::validate_anthropic;
  out.judge = [](const SeenRequest& request) -> std::string {
    if (request.method != "POST" || request.target != "/v1/messages") return "path";
    if (request.headers.at("x-api-key") != "sk-test") return "invalid x-api-key";
    if (request.headers.at("anthropic-version") != "2023-06-01") return "anthropic-version";
    if (request.headers.at("content-type") != "application/json") return "content-type";
    const auto body = json::parse(request.body);
    return body ? reef::test::validate_anthropic(*body) : body.error().what;
  };
  out.counts_cache_writes = true;
  return out;
}

}  // namespace reef::model::test
