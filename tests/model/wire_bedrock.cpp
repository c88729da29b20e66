// Bedrock's ConverseStream as its server speaks it: binary frames.
#include <fmt/format.h>

#include "base/overload.h"
#include "model/bedrock/bedrock.h"
#include "model/conformance.h"
#include "model/validators.h"

namespace reef::test {
namespace {

std::string number(std::size_t value, int bytes) {
  std::string out;
  for (int i = bytes - 1; i >= 0; --i) out += static_cast<char>((value >> (8 * i)) & 0xFF);
  return out;
}

// Bit by bit, as the definition of CRC-32 says.
std::string checksum(const std::string& bytes) {
  std::uint32_t crc = 0xFFFFFFFF;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int i = 0; i < 8; ++i) crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? 0xEDB88320 : 0);
  }
  return number(~crc & 0xFFFFFFFF, 4);
}

std::string frame(const std::vector<std::pair<std::string, std::string>>& headers,
                  const std::string& payload) {
  std::string head;
  for (const auto& [name, value] : headers)
    head += number(name.size(), 1) + name + number(7, 1) + number(value.size(), 2) + value;
  auto out = number(16 + head.size() + payload.size(), 4) + number(head.size(), 4);
  out += checksum(out);
  out += head + payload;
  return out + checksum(out);
}

std::string event(const std::string& type, json::object payload) {
  // Real frames are padded so that their sizes tell nothing.
  payload["p"] = "abcdefghijk";
  return frame(
      {{":event-type", type}, {":content-type", "application/json"}, {":message-type", "event"}},
      json::write(payload));
}

std::string delta(std::size_t index, json::object content) {
  return event("contentBlockDelta", {{"contentBlockIndex", index}, {"delta", std::move(content)}});
}

std::string stream(const Script& script) {
  auto out = event("messageStart", {{"role", "assistant"}});
  std::size_t index = 0;
  for (const auto& said : script.blocks) {
    std::visit(
        Overload{
            [&](const Script::Text& text) {
              for (const auto& piece : text.pieces) out += delta(index, {{"text", piece}});
            },
            [&](const Script::Thinking& thinking) {
              for (const auto& piece : thinking.pieces)
                out += delta(index, {{"reasoningContent", json::object{{"text", piece}}}});
              out += delta(index,
                           {{"reasoningContent", json::object{{"signature", thinking.signature}}}});
            },
            [&](const Script::Call& call) {
              out +=
                  event("contentBlockStart",
                        {{"contentBlockIndex", index},
                         {"start", json::object{{"toolUse", json::object{{"toolUseId", call.id},
                                                                         {"name", call.name}}}}}});
              for (const auto& piece : call.argument_pieces)
                out += delta(index, {{"toolUse", json::object{{"input", piece}}}});
            },
        },
        said);
    out += event("contentBlockStop", {{"contentBlockIndex", index++}});
  }
  const auto* reason = script.stop == Script::Stop::end      ? "end_turn"
                       : script.stop == Script::Stop::length ? "max_tokens"
                                                             : "tool_use";
  out += event("messageStop", {{"stopReason", reason}});
  return out +
         event("metadata", {{"usage", json::object{{"inputTokens", script.input},
                                                   {"outputTokens", script.output},
                                                   {"totalTokens", script.input + script.output},
                                                   {"cacheReadInputTokens", script.cache_read},
                                                   {"cacheWriteInputTokens", script.cache_write}}},
                            {"metrics", json::object{{"latencyMs", 12}}}});
}

}  // namespace

Backend bedrock_backend() {
  using Kind = model::Failure::Kind;
  const auto type = [](std::string name) {
    return model::Headers{{"x-amzn-ErrorType", std::move(name)}};
  };
  const auto says = [](std::string_view message) {
    return json::write(json::object{{"message", message}});
  };
  Backend out;
  out.name = "bedrock";
  out.codec = [](const std::string& base_url) {
    model::BedrockOptions options;
    options.base_url = base_url;
    options.keys = {"AKIDEXAMPLE", "secret", ""};
    return std::make_shared<model::BedrockCodec>(options);
  };
  out.stream = stream;
  out.overloaded_after = [](const std::string& text) {
    return event("messageStart", {{"role", "assistant"}}) + delta(0, {{"text", text}}) +
           frame({{":exception-type", "serviceUnavailableException"},
                  {":content-type", "application/json"},
                  {":message-type", "exception"}},
                 R"({"message":"Bedrock is unable to process your request."})");
  };
  out.errors = {
      {"bad request", 400, says("messages: field required"), Kind::invalid_request, false,
       type("ValidationException:http://internal.amazon.com/")},
      {"too long", 400, says("Input is too long for requested model."), Kind::context_overflow,
       false, type("ValidationException")},
      {"too long for Claude", 400,
       says("The model returned the following errors: prompt is too long: 213462 tokens > 200000 "
            "maximum"),
       Kind::context_overflow, false, type("ValidationException")},
      {"bad signature", 403, says("The request signature we calculated does not match"), Kind::auth,
       false, type("InvalidSignatureException")},
      {"old token", 403, says("The security token included in the request is expired"), Kind::auth,
       false, type("ExpiredTokenException")},
      {"not allowed", 403, says("You don't have access to the model"), Kind::auth, false,
       type("AccessDeniedException")},
      {"no such model", 404, says("Could not resolve the foundation model"), Kind::invalid_request,
       false, type("ResourceNotFoundException")},
      {"too fast", 429, says("Too many requests"), Kind::rate_limit, false,
       type("ThrottlingException")},
      {"not ready", 429, says("Model is not ready"), Kind::overloaded, false,
       type("ModelNotReadyException")},
      {"quota", 400, says("Your request exceeds the quota"), Kind::rate_limit, true,
       type("ServiceQuotaExceededException")},
      {"by its body", 429,
       R"({"__type":"com.amazon.coral.service#ThrottlingException","message":"slow"})",
       Kind::rate_limit},
      {"model failed", 424, says("The model failed"), Kind::server, false,
       type("ModelErrorException")},
      {"model slow", 408, says("The model timed out"), Kind::timeout, false,
       type("ModelTimeoutException")},
      {"broken", 500, says("internal"), Kind::server, false, type("InternalServerException")},
      {"overloaded", 503, says("unavailable"), Kind::overloaded, false,
       type("ServiceUnavailableException")},
  };
  out.models = {"us.anthropic.claude-sonnet-4-5-20250929-v1:0", "anthropic.claude-opus-4-6-v1",
                "amazon.nova-pro-v1:0", "meta.llama3-70b"};
  out.validate = validate_bedrock;
  out.content_type = "application/vnd.amazon.eventstream";
  out.path = "/model/m-1/converse-stream";
  return out;
}

}  // namespace reef::test
